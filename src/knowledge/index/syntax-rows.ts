import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { DefinitionKind, ParsedFile } from '../../base/syntax/parsed-file.ts'

/**
 * A file's syntax without the names of the fields, which would be most of it. A line is the distance to the one before, so that it is short. Calls are
 * grouped by what they are inside of. A line of a header is the number of the definition whose signature it is, or the text itself.
 */
type Row = [
  language: string,
  definitions: [
    name: string,
    kind: DefinitionKind,
    signature: string,
    start: number,
    lines: number,
    exported: 0 | 1,
    container?: string,
  ][],
  imports: [from: string, ...names: string[]][],
  calls: [inside: string | 0, ...namesAndLines: (string | number)[]][],
  inherits: [name: string, base: string][],
  chunks: [start: number, lines: number, header: (number | string)[], definition?: string][],
]

/** A longer signature is cut to this. */
const LONGEST_SIGNATURE = 100

/** Texts that files of several languages contain, the most usual last: a small text becomes shorter if it can refer to them. */
const DICTIONARY = Buffer.from(
  '"std::collections::HashMap","fmt.Errorf","errors","strings","context","println","unwrap","to_string","clone","into","java.util.List","System",' +
    '"typing","dataclass","__init__","isinstance","append","range","print","len","str","super","self","react","useState","useEffect","vitest","expect",' +
    '"describe","it","beforeEach","node:path","node:fs","node:assert/strict","node:test","assert","equal","deepEqual","ok","test","console","log","error",' +
    '"JSON","stringify","parse","toString","replace","startsWith","endsWith","includes","indexOf","split","trim","slice","concat","reduce","forEach",' +
    '"sort","find","some","every","entries","keys","values","delete","has","get","set","add","push","join","filter","map","then","catch","resolve",' +
    '"String","Number","Boolean","Array","Object","Date","Error","Promise","Map","Set","constructor","options","./index",".js",".ts","../../","../","./",' +
    '"private","protected","public","static","struct","module","interface","type","variable","class","method","function","import ' +
    '","const ","export const ","export interface ","export type ","export class ","async ","function ","export function ","export async ' +
    'function ","def ","self","func ","fn ","pub fn ","string","number","boolean","Promise<void>","Promise<","): string","): void","',
)

export function packSyntax({ language, definitions, imports, calls, inherits, chunks }: ParsedFile): Buffer {
  const [defined, cut] = [distances(), distances()]
  const signatures = new Map(definitions.map(({ signature }, at) => [signature, at]))
  const row: Row = [
    language,
    definitions.map(({ name, kind, signature, startLine, endLine, exported, container }) => {
      const about = [
        name,
        kind,
        signature.slice(0, LONGEST_SIGNATURE),
        defined.next(startLine),
        endLine - startLine,
        exported ? 1 : 0,
      ] as const
      return container === undefined ? [...about] : [...about, container]
    }),
    imports.map(({ from, names }) => [from, ...names]),
    groupCalls(calls),
    inherits.map(({ name, base }) => [name, base]),
    chunks.map(({ startLine, endLine, header, definition }) => {
      const lines = header.split('\n').map(line => signatures.get(line) ?? line)
      const about = [cut.next(startLine), endLine - startLine, lines] as const
      return definition === undefined ? [...about] : [...about, definition]
    }),
  ]
  return deflateRawSync(JSON.stringify(row), { level: 9, dictionary: DICTIONARY })
}

export function unpackSyntax(packed: Uint8Array): ParsedFile {
  const text = inflateRawSync(packed, { dictionary: DICTIONARY }).toString()
  const [language, definitions, imports, calls, inherits, chunks] = JSON.parse(text) as Row
  const [defined, called, cut] = [distances(), distances(), distances()]
  const lineOf = (line: number | string) => (typeof line === 'number' ? (definitions[line]?.[2] ?? '') : line)
  return {
    language,
    definitions: definitions.map(([name, kind, signature, start, lines, exported, container]) => {
      const startLine = defined.sum(start)
      const about = { name, kind, signature, startLine, endLine: startLine + lines, exported: exported === 1 }
      return container === undefined ? about : { ...about, container }
    }),
    imports: imports.map(([from, ...names]) => ({ from, names })),
    calls: calls.flatMap(([inside, ...rest]) =>
      Array.from({ length: rest.length / 2 }, (_, at) => ({
        name: String(rest[2 * at]),
        line: called.sum(Number(rest[2 * at + 1])),
        ...(inside !== 0 && { inside }),
      })),
    ),
    inherits: inherits.map(([name, base]) => ({ name, base })),
    chunks: chunks.map(([start, lines, header, definition]) => {
      const startLine = cut.sum(start)
      const about = { startLine, endLine: startLine + lines, header: header.map(lineOf).join('\n') }
      return definition === undefined ? about : { ...about, definition }
    }),
  }
}

/** Consecutive calls inside of the same definition. Of several calls of one name there, the first says where. */
function groupCalls(calls: ParsedFile['calls']): Row[3] {
  const called = distances()
  const groups: Row[3] = []
  const seen = new Set<string>()
  for (const { name, line, inside = 0 } of calls) {
    const key = `${inside} ${name}`
    if (seen.has(key)) continue
    seen.add(key)
    const last = groups.at(-1)
    if (last?.[0] === inside) last.push(name, called.next(line))
    else groups.push([inside, name, called.next(line)])
  }
  return groups
}

/** Numbers as distances from the one before, and back. */
function distances() {
  let last = 0
  return {
    next(value: number): number {
      const distance = value - last
      last = value
      return distance
    },
    sum(distance: number): number {
      last += distance
      return last
    },
  }
}
