import fc from 'fast-check'

const [SURROGATES, AFTER] = [0xd800, 0xe000]

/**
 * Any character, for `fc.string({ unit: codePoint })`: the same as the unit `binary`, which builds a table of all 1.1 million of
 * them in every process, for more than a second.
 */
export const codePoint = fc.integer({ min: 0, max: 0x10ffff - (AFTER - SURROGATES) }).map(
  code => String.fromCodePoint(code < SURROGATES ? code : code + AFTER - SURROGATES),
  char => {
    const code = typeof char === 'string' && [...char].length === 1 ? (char.codePointAt(0) ?? SURROGATES) : SURROGATES
    if (code >= SURROGATES && code < AFTER) throw new Error('not one character')
    return code < SURROGATES ? code : code - (AFTER - SURROGATES)
  },
)
