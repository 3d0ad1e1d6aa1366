import { isUtf8 } from 'node:buffer'

/**
 * Decodes names of files, which are bytes and need not be text. A byte that is not UTF-8 becomes a lone surrogate (0xff is U+DCFF), so that
 * `encodeNames` gives back the same bytes. Other text is as ever; `isWellFormed()` of a string tells whether all of it is text.
 */
export function decodeNames(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const parts: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from) + 1 || bytes.length
    parts.push(decodeName(bytes.subarray(from, end)))
    from = end
  }
  return parts.join('')
}

function decodeName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find(count => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)))
    text += length ? bytes.toString('utf8', at, at + length) : String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
    at += length ?? 1
  }
  return text
}

/** The bytes of a decoded name or list of names, for the file system and for standard input; the text itself where it is text. */
export function encodeNames(text: string): string | Buffer {
  if (text.isWellFormed()) return text
  // By runs of bytes and of text: a list of names can have megabytes.
  const parts = text.split(/([\udc80-\udcff]+)/u)
  return Buffer.concat(
    parts.map((part, at) =>
      at % 2 === 0 ? Buffer.from(part) : Buffer.from(Array.from(part, char => char.charCodeAt(0) - 0xdc00)),
    ),
  )
}
