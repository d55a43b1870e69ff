/*
 * The pattern of cfrac: one thread, whose every result of arithmetic is a small block that lives for a few operations.
 *
 * Factorises N by the continued fraction of its square root (Morrison and Brillhart 1975, without the factor base):
 * with A[n] the convergents' numerators, A[n-1]^2 = (-1)^n Q[n] mod N, and an even n where Q[n] is a square s^2 gives
 * the factor gcd(A[n-1] - s, N), unless it is trivial.
 */
#include <string.h>

#include "patterns.h"

typedef struct number {
    unsigned n;        /* digits in use; the highest is not 0 */
    uint32_t digits[]; /* the lowest first */
} number;

static number *make(unsigned n) {
    number *made = must_malloc(sizeof *made + n * sizeof(uint32_t));
    made->n = n;
    memset(made->digits, 0, n * sizeof(uint32_t));
    return made;
}

static number *trim(number *a) {
    while (a->n > 0 && a->digits[a->n - 1] == 0) {
        a->n--;
    }
    return a;
}

static number *of(uint64_t value) {
    number *made = make(2);
    made->digits[0] = (uint32_t)value;
    made->digits[1] = (uint32_t)(value >> 32);
    return trim(made);
}

static uint64_t low(const number *a) {
    return (a->n > 0 ? a->digits[0] : 0) | (uint64_t)(a->n > 1 ? a->digits[1] : 0) << 32;
}

static int compare(const number *a, const number *b) {
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    for (unsigned i = a->n; i-- > 0;) {
        if (a->digits[i] != b->digits[i]) {
            return a->digits[i] < b->digits[i] ? -1 : 1;
        }
    }
    return 0;
}

static number *add(const number *a, const number *b) {
    const unsigned n = a->n > b->n ? a->n : b->n;
    number *sum = make(n + 1);
    uint64_t carry = 0;
    for (unsigned i = 0; i <= n; i++) {
        carry += (uint64_t)(i < a->n ? a->digits[i] : 0) + (i < b->n ? b->digits[i] : 0);
        sum->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return trim(sum);
}

/* a >= b */
static number *subtract(const number *a, const number *b) {
    number *rest = make(a->n);
    int64_t carry = 0;
    for (unsigned i = 0; i < a->n; i++) {
        carry += (int64_t)a->digits[i] - (i < b->n ? b->digits[i] : 0);
        rest->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return trim(rest);
}

static number *multiply(const number *a, const number *b) {
    number *product = make(a->n + b->n);
    for (unsigned i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; j < b->n; j++) {
            carry += (uint64_t)a->digits[i] * b->digits[j] + product->digits[i + j];
            product->digits[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->digits[i + b->n] = (uint32_t)carry;
    }
    return trim(product);
}

static number *twice(const number *a, unsigned bit) {
    number *result = make(a->n + 1);
    uint32_t carry = bit;
    for (unsigned i = 0; i < a->n; i++) {
        result->digits[i] = a->digits[i] << 1 | carry;
        carry = a->digits[i] >> 31;
    }
    result->digits[a->n] = carry;
    return trim(result);
}

/* a mod b, a bit at a time, each of them a new number. */
static number *modulo(const number *a, const number *b) {
    number *rest = of(0);
    for (unsigned i = a->n * 32; i-- > 0;) {
        number *shifted = twice(rest, a->digits[i / 32] >> i % 32 & 1);
        free(rest);
        rest = shifted;
        if (compare(rest, b) >= 0) {
            number *smaller = subtract(rest, b);
            free(rest);
            rest = smaller;
        }
    }
    return rest;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t root(uint64_t value) {
    uint64_t found = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1) {
        if ((found + bit) * (found + bit) <= value) {
            found += bit;
        }
    }
    return found;
}

/* times * a + b mod n */
static number *convergent(uint64_t times, const number *a, const number *b, const number *n) {
    number *factor = of(times), *product = multiply(factor, a), *sum = add(product, b), *reduced = modulo(sum, n);
    free(factor);
    free(product);
    free(sum);
    return reduced;
}

/* A factor of n, which is less than 2^62 and no square; 1 where none was found within the steps. */
static uint64_t factor_of(uint64_t n, unsigned steps) {
    const uint64_t whole = root(n);
    uint64_t p = 0, q = 1, last_q = n, a = whole, found = 1;
    number *modulus = of(n), *before = of(1), *now = of(whole);
    for (unsigned i = 1; i <= steps && found == 1; i++) {
        const uint64_t next_p = a * q - p;
        const uint64_t next_q = i == 1 ? n - next_p * next_p : last_q + a * p - a * next_p;
        last_q = q;
        p = next_p;
        q = next_q;
        a = (whole + p) / q;
        const uint64_t square = root(q);
        if (i % 2 == 0 && square * square == q) {
            const uint64_t candidate = gcd(low(now) + n - square, n);
            found = candidate == n ? 1 : candidate;
        }
        number *next = convergent(a, now, before, modulus);
        free(before);
        before = now;
        now = next;
    }
    free(modulus);
    free(before);
    free(now);
    return found;
}

uint64_t pattern_factorise(unsigned scale) {
    static const uint64_t primes[] = {1000003, 1000033, 1299709, 2000003, 3000017, 4000037, 15485863, 32452843};
    enum { PRIMES = sizeof primes / sizeof *primes, ROUNDS = 12 };
    uint64_t sum = 0;
    for (unsigned round = 0; round < ROUNDS * scale; round++) {
        for (unsigned i = 0; i < PRIMES; i++) {
            for (unsigned j = 0; j < i; j++) {
                sum = sum * 31 + factor_of(primes[i] * primes[j], 4000);
            }
        }
    }
    return sum;
}
