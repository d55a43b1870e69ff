/* Kernels of images: one block per row, integers throughout. Beyond the border, the picture goes on as it ends. */
#ifndef __CUDACC_RTC__
#include "kernels.h"
#include "shapes.h"
#endif

#define RADIUS 4               /* of the blur: nine pixels each way */
#define HALO_MOST (RADIUS * 3) /* in values, of three channels */
#define CHUNK (THREADS * 4)    /* values of a row that a block has at a time */
#define CLAMP(i, n) ((i) < 0 ? 0 : (i) < (n) ? (i) : (n)-1)
/* Binomial coefficients, which come to 256. */
#define WEIGHT(k)                                                                                                      \
    ((k) == 0 ? 70 : (k) == 1 || (k) == -1 ? 56 : (k) == 2 || (k) == -2 ? 28 : (k) == 3 || (k) == -3 ? 8 : 1)

/* The value `apart` pixels away on the row; at its ends the first and the last pixel go on. */
#define ALONG(at, apart, channels, row)                                                                                \
    (CLAMP((at) / (channels) + (apart), (row) / (channels)) * (channels) + (at) % (channels))

/* Blurs along the rows. Each value is loaded once, four at a time, since a bus may lie between: the rest is shared. */
KERNEL images_rows(const unsigned *values, unsigned short *blurred, int row, int channels) {
    SHARED unsigned char near[CHUNK + 2 * HALO_MOST];
    const unsigned *words = values + (long long)BLOCK * (row / 4);
    int halo = RADIUS * channels;
    for (int first = 0; first < row; first += CHUNK) {
        EACH_THREAD(t) {
            for (int word = t; word < (CHUNK + 2 * HALO_MOST) / 4; word += THREADS) {
                int at = first - HALO_MOST + 4 * word;
                unsigned four = at >= 0 && at < row ? words[at / 4] : 0;
                for (int i = 0; i < 4; i++)
                    near[4 * word + i] = (unsigned char)(four >> 8 * i);
            }
        }
        EACH_THREAD(t) {
            for (int at = first + t; at < first + CHUNK && at < row; at += THREADS) {
                bool inner = at >= halo && at + halo < row;
                int sum = 0;
                for (int k = -RADIUS; k <= RADIUS; k++) {
                    int other = inner ? at + k * channels : ALONG(at, k, channels, row);
                    sum += WEIGHT(k) * near[other - first + HALO_MOST];
                }
                blurred[(long long)BLOCK * row + at] = (unsigned short)sum;
            }
        }
    }
}
SIMULATED(images_rows, ARGUMENT(unsigned *, 0), ARGUMENT(unsigned short *, 1), ARGUMENT(int, 2), ARGUMENT(int, 3))

KERNEL images_columns(const unsigned short *blurred, unsigned char *both, int row) {
    EACH_THREAD(t) {
        for (int at = t; at < row; at += THREADS) {
            int sum = 0;
            for (int k = -RADIUS; k <= RADIUS; k++)
                sum += WEIGHT(k) * blurred[(long long)CLAMP(BLOCK + k, BLOCKS) * row + at];
            both[(long long)BLOCK * row + at] = (unsigned char)(sum >> 16);
        }
    }
}
SIMULATED(images_columns, ARGUMENT(unsigned short *, 0), ARGUMENT(unsigned char *, 1), ARGUMENT(int, 2))

/* How steep the blurred picture is, four values at a time. */
KERNEL images_edges(const unsigned char *both, unsigned *edges, int row, int channels) {
    const unsigned char *above = both + (long long)CLAMP(BLOCK - 1, BLOCKS) * row;
    const unsigned char *here = both + (long long)BLOCK * row;
    const unsigned char *below = both + (long long)CLAMP(BLOCK + 1, BLOCKS) * row;
    EACH_THREAD(t) {
        for (int word = t; word < row / 4; word += THREADS) {
            unsigned four = 0;
            for (int i = 0; i < 4; i++) {
                int at = 4 * word + i;
                int left = ALONG(at, -1, channels, row), right = ALONG(at, 1, channels, row);
                int across = above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
                int down = below[left] + 2 * below[at] + below[right] - above[left] - 2 * above[at] - above[right];
                int steep = (across < 0 ? -across : across) + (down < 0 ? -down : down);
                four |= (unsigned)(steep < 255 ? steep : 255) << 8 * i;
            }
            edges[(long long)BLOCK * (row / 4) + word] = four;
        }
    }
}
SIMULATED(images_edges, ARGUMENT(unsigned char *, 0), ARGUMENT(unsigned *, 1), ARGUMENT(int, 2), ARGUMENT(int, 3))
