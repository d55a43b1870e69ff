/*
 * The kernel that a link is measured with, in PTX, which the driver compiles for any device since Maxwell: copies
 * `vectors` times 16 bytes; without `from` it only stores, without `to` it only loads, and the sum of what it loaded
 * goes where nobody looks.
 */
#ifndef FERRY_ALLOC_CUDA_LINK_CODE_H
#define FERRY_ALLOC_CUDA_LINK_CODE_H

#define CUDA_LINK_KERNEL "ferry_link"

static const char cuda_link_code[] = ".version 7.0\n"
                                     ".target sm_52\n"
                                     ".address_size 64\n"
                                     ".visible .entry " CUDA_LINK_KERNEL "(\n"
                                     "    .param .u64 from, .param .u64 to, .param .u64 vectors)\n"
                                     "{\n"
                                     "    .shared .align 4 .b32 sink;\n"
                                     "    .reg .pred %loads, %stores, %done;\n"
                                     "    .reg .b32 %x, %y, %z, %w, %sum, %thread, %threads, %block, %blocks;\n"
                                     "    .reg .b64 %from, %to, %vectors, %at, %step, %offset, %address;\n"
                                     "    ld.param.u64 %from, [from];\n"
                                     "    ld.param.u64 %to, [to];\n"
                                     "    ld.param.u64 %vectors, [vectors];\n"
                                     "    setp.ne.u64 %loads, %from, 0;\n"
                                     "    setp.ne.u64 %stores, %to, 0;\n"
                                     "    cvta.to.global.u64 %from, %from;\n"
                                     "    cvta.to.global.u64 %to, %to;\n"
                                     "    mov.u32 %thread, %tid.x;\n"
                                     "    mov.u32 %threads, %ntid.x;\n"
                                     "    mov.u32 %block, %ctaid.x;\n"
                                     "    mov.u32 %blocks, %nctaid.x;\n"
                                     "    mul.wide.u32 %at, %block, %threads;\n"
                                     "    cvt.u64.u32 %offset, %thread;\n"
                                     "    add.u64 %at, %at, %offset;\n"
                                     "    mul.wide.u32 %step, %blocks, %threads;\n"
                                     "    mov.b32 %x, %thread;\n"
                                     "    mov.b32 %y, %thread;\n"
                                     "    mov.b32 %z, %thread;\n"
                                     "    mov.b32 %w, %thread;\n"
                                     "    mov.b32 %sum, 0;\n"
                                     "NEXT:\n"
                                     "    setp.ge.u64 %done, %at, %vectors;\n"
                                     "    @%done bra END;\n"
                                     "    shl.b64 %offset, %at, 4;\n"
                                     "    add.u64 %address, %from, %offset;\n"
                                     "    @%loads ld.global.v4.u32 {%x, %y, %z, %w}, [%address];\n"
                                     "    add.u64 %address, %to, %offset;\n"
                                     "    @%stores st.global.v4.u32 [%address], {%x, %y, %z, %w};\n"
                                     "    add.u32 %sum, %sum, %x;\n"
                                     "    add.u32 %sum, %sum, %y;\n"
                                     "    add.u32 %sum, %sum, %z;\n"
                                     "    add.u32 %sum, %sum, %w;\n"
                                     "    add.u64 %at, %at, %step;\n"
                                     "    bra NEXT;\n"
                                     "END:\n"
                                     "    st.volatile.shared.u32 [sink], %sum;\n"
                                     "    ret;\n"
                                     "}\n";

#endif
