# Makes a C header of byte arrays from text files: cmake -DOUTPUT=header -DNAMES="a;b" -DFILES="x;y" -P embed.cmake
# Arrays, since a string literal may not be as long as a source is.
set(text "/* Made by kernels/embed.cmake. */\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
    file(READ ${file} bytes HEX)
    if(bytes MATCHES "^(..)*[89a-f].")
        message(FATAL_ERROR "${file} is not ASCII")
    endif()
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
    string(APPEND text "static const char ${name}[] = {\n    ${bytes}\n};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
