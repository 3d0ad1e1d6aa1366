/**
 * The text as it may be meant: every reading of it that disguise leaves open, lower-case, without accents. Somebody who hides
 * a word (look-alike letters, invisible characters, d.r.o.p, de-lete, dr0p, deleteAllUsers) hides it from a pattern, so the
 * patterns are tried on all readings.
 */
export function readings(text: string): string[] {
  const plain = folded(text)
  const joined = plain.replace(SPACED_LETTERS, run => ` ${run.replace(/[^\p{L}\p{N}]/gu, '')} `)
  const unbroken = plain.replace(/(?<=\p{L})[-_.*~`'"|/\\+](?=\p{L})/gu, '')
  const spelled = plain.replace(/[\p{L}\p{N}@$!|]+/gu, word => (/\p{L}/u.test(word) ? fromLeet(word) : word))
  return [...new Set([plain, joined, unbroken, spelled, latin(plain), latin(joined), words(text)])]
}

/** Lower case, compatibility forms and accents taken away, invisible characters gone, one kind of quote and of space. */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .normalize('NFD')
    .replace(/\p{M}|\p{Cf}|\u3164|\u115f/gu, '')
    .normalize('NFC')
    .replace(/[‘’‛ʼ`´]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/\p{Pd}/gu, '-')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .toLowerCase()
    .trim()
}

/** "d r o p", "d-e-l-e-t-e": four or more single letters with one separator between each. */
const SPACED_LETTERS = /(?<!\p{L})\p{L}(?:[\s.\-_*·|/]{1,2}\p{L}(?!\p{L})){3,}/gu

const LEET: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's', '!': 'i' }

function fromLeet(word: string): string {
  return word.replace(/[013457@$!](?=.*\p{L})|(?<=\p{L}.*)[013457@$!]/gu, sign => LEET[sign] ?? sign)
}

/** Letters of other alphabets that look like Latin ones. */
const LOOK_ALIKES: Record<string, string> = Object.fromEntries(
  [...'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbпnгrԛqԝwαaοoρpεeτtυuνvκkιiηnωwγyχxıiɡgℓlƖl'].flatMap((letter, index, all) =>
    index % 2 === 0 ? [[letter, all[index + 1] ?? letter]] : [],
  ),
)

function latin(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, letter => LOOK_ALIKES[letter] ?? letter)
}

/** Identifiers taken apart: deleteAllUsers, drop_table. */
function words(text: string): string {
  return folded(text.replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ').replace(/[_]+/g, ' '))
}
