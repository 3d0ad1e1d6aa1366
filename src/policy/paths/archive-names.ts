import { gunzipSync } from 'node:zlib'

/** The files that a patch or an archive writes, and where the links in it lead. */
export interface WrittenNames {
  names: string[]
  links: string[]
}

/** The names in a unified, context or git patch, with all their folders; `undefined` if it is none of these. */
export function readPatch(text: string): WrittenNames | undefined {
  const names = new Set<string>()
  for (const line of text.split('\n')) {
    const [, head, rest = ''] =
      /^(\+\+\+|---|\*\*\*|rename to|rename from|copy to|Index:|diff --git) (.+)$/.exec(line) ?? []
    if (head === undefined || /^\*\*\* \d|^--- \d+,\d+ ----/.test(line)) continue
    for (const name of head === 'diff --git' ? splitGitNames(rest) : [readName(rest)])
      if (name !== '/dev/null') names.add(name)
  }
  if (names.size === 0) return undefined
  const links = /^(new file mode|new mode|old mode|index \S+) 120000/m.test(text)
    ? text
        .split('\n')
        .filter(line => /^\+(?!\+\+ )/.test(line))
        .map(line => line.slice(1))
    : []
  return { names: [...names], links }
}

/** What a patch makes of each file: pieces of its text, each with what takes its place. Of a piece as many lines count as its head says. */
export function readHunks(text: string): { name: string; hunks: { from: string; to: string }[] }[] {
  const files: { name: string; hunks: { from: string; to: string }[] }[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, name] = /^\+\+\+ (.+)$/.exec(line) ?? []
    if (name !== undefined) files.push({ name: readName(name), hunks: [] })
    const [head, minus = '1', plus = '1'] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? []
    if (head === undefined) continue
    const [from, to]: [string[], string[]] = [[], []]
    while ((from.length < Number(minus) || to.length < Number(plus)) && ++at < lines.length) {
      const next = lines[at] ?? ''
      if (next.startsWith('\\')) continue
      if (!next.startsWith('+')) from.push(next.slice(1))
      if (!next.startsWith('-')) to.push(next.slice(1))
    }
    files.at(-1)?.hunks.push({ from: from.join('\n'), to: to.join('\n') })
  }
  return files
}

/** A name ends at a tab or at the time that `diff` writes behind it; git quotes names with odd characters. */
function readName(text: string): string {
  const [, quoted] = /^"((?:[^"\\]|\\.)*)"/.exec(text) ?? []
  if (quoted !== undefined) return unquote(quoted)
  return (text.split('\t')[0] ?? '').replace(/ +\d{4}-\d\d-\d\d.*$/, '').trimEnd()
}

function splitGitNames(text: string): string[] {
  const quoted = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, name = '']) => unquote(name))
  if (quoted.length > 0) return quoted
  const [, one, other] = /^(\S.*?) (\w\/.*|\S+)$/.exec(text.trimEnd()) ?? []
  return one === undefined || other === undefined ? [] : [one, other]
}

function unquote(text: string): string {
  const bytes: number[] = []
  for (const [token, octal, letter] of text.matchAll(/\\([0-7]{1,3})|\\(.)|[^\\]/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 255)
    else bytes.push(...Buffer.from(letter === undefined ? token : ({ n: '\n', t: '\t' }[letter] ?? letter)))
  }
  return Buffer.from(bytes).toString('utf8')
}

/** The names in a tar or zip archive, packed with gzip or not; `undefined` if it cannot be read. */
export function readArchive(bytes: Buffer): WrittenNames | undefined {
  try {
    if (bytes.readUInt16BE(0) === 0x1f8b) return readTar(gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED }))
    return bytes.toString('latin1', 0, 2) === 'PK' ? readZip(bytes) : readTar(bytes)
  } catch {
    return undefined // too short, broken, or too large when it is unpacked
  }
}

const MAX_UNPACKED = 16 * 1024 * 1024
const BLOCK = 512

function readTar(bytes: Buffer): WrittenNames | undefined {
  const found: WrittenNames = { names: [], links: [] }
  let name: string | undefined
  let link: string | undefined
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK)
    if (header.every(byte => byte === 0)) break
    if (header.toString('latin1', 257, 262) !== 'ustar') return undefined
    const size = Number.parseInt(readField(header, 124, 12).trim() || '0', 8)
    if (!(size >= 0)) return undefined
    const type = header.toString('latin1', 156, 157)
    const body = bytes.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
    // A long name comes before the entry that it belongs to: as the body of GNU's own entries, or as a record of a header.
    if (type === 'L') name = readField(body, 0, body.length)
    else if (type === 'K') link = readField(body, 0, body.length)
    else if (type === 'x' || type === 'g') {
      name = /\d+ path=(.*)\n/.exec(body.toString('utf8'))?.[1] ?? name
      link = /\d+ linkpath=(.*)\n/.exec(body.toString('utf8'))?.[1] ?? link
    } else {
      const prefix = readField(header, 345, 155)
      const own = readField(header, 0, 100)
      found.names.push(name ?? (prefix === '' || header[262] === 0x20 ? own : `${prefix}/${own}`))
      if (type === '1' || type === '2') found.links.push(link ?? readField(header, 157, 100))
      name = link = undefined
    }
  }
  return found
}

function readField(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? undefined : end)
}

/** Reads the list at the end of a zip archive. The names before each file must be the same, because some programs use those. */
function readZip(bytes: Buffer): WrittenNames | undefined {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  if (end < 0) return undefined
  const found: WrittenNames = { names: [], links: [] }
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    if (bytes.toString('latin1', at, at + 4) !== 'PK\x01\x02') return undefined
    const nameLength = bytes.readUInt16LE(at + 28)
    found.names.push(bytes.toString('utf8', at + 46, at + 46 + nameLength))
    const isLink = bytes.readUInt32LE(at + 38) >>> 28 === 0xa
    const local = bytes.readUInt32LE(at + 42)
    found.names.push(bytes.toString('utf8', local + 30, local + 30 + bytes.readUInt16LE(local + 26)))
    // Where a link leads is packed with the file, so it counts as leading anywhere.
    if (isLink) found.links.push('..')
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return found
}
