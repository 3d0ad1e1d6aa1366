import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { DefinitionKind, ParsedFile } from '../../base/syntax/parsed-file.ts'

/** A file's syntax without the names of the fields, which would be most of it. A line is the distance to the one before, so that it is short. */
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
  calls: [name: string, line: number, inside?: string][],
  inherits: [name: string, base: string][],
  chunks: [start: number, lines: number, header: string, definition?: string][],
]

/** Texts that most files contain: a small text becomes much shorter if it can refer to them. */
const DICTIONARY = Buffer.from(
  '"private","protected","public","static","struct","module","interface","type","variable","class","method","function","import ' +
    '","const ","export const ","export interface ","export type ","export class ","async ","function ","export function ","export async ' +
    'function ","def ","self","func ","fn ","pub fn ","string","number","boolean","Promise<void>","Promise<","): string","): void","',
)

export function packSyntax({ language, definitions, imports, calls, inherits, chunks }: ParsedFile): Buffer {
  const [defined, called, cut] = [distances(), distances(), distances()]
  const row: Row = [
    language,
    definitions.map(({ name, kind, signature, startLine, endLine, exported, container }) => {
      const about = [name, kind, signature, defined.next(startLine), endLine - startLine, exported ? 1 : 0] as const
      return container === undefined ? [...about] : [...about, container]
    }),
    imports.map(({ from, names }) => [from, ...names]),
    calls.map(({ name, line, inside }) => {
      const about = [name, called.next(line)] as const
      return inside === undefined ? [...about] : [...about, inside]
    }),
    inherits.map(({ name, base }) => [name, base]),
    chunks.map(({ startLine, endLine, header, definition }) => {
      const about = [cut.next(startLine), endLine - startLine, header] as const
      return definition === undefined ? [...about] : [...about, definition]
    }),
  ]
  return deflateRawSync(JSON.stringify(row), { level: 6, dictionary: DICTIONARY })
}

export function unpackSyntax(packed: Uint8Array): ParsedFile {
  const text = inflateRawSync(packed, { dictionary: DICTIONARY }).toString()
  const [language, definitions, imports, calls, inherits, chunks] = JSON.parse(text) as Row
  const [defined, called, cut] = [distances(), distances(), distances()]
  return {
    language,
    definitions: definitions.map(([name, kind, signature, start, lines, exported, container]) => {
      const startLine = defined.sum(start)
      const about = { name, kind, signature, startLine, endLine: startLine + lines, exported: exported === 1 }
      return container === undefined ? about : { ...about, container }
    }),
    imports: imports.map(([from, ...names]) => ({ from, names })),
    calls: calls.map(([name, line, inside]) => ({
      name,
      line: called.sum(line),
      ...(inside !== undefined && { inside }),
    })),
    inherits: inherits.map(([name, base]) => ({ name, base })),
    chunks: chunks.map(([start, lines, header, definition]) => {
      const startLine = cut.sum(start)
      const about = { startLine, endLine: startLine + lines, header }
      return definition === undefined ? about : { ...about, definition }
    }),
  }
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
