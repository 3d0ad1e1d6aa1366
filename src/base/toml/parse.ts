import { parse, TomlError } from 'smol-toml'
import { messageOf } from '../errors.ts'
import { scanToml } from './scan.ts'

export type TomlTable = Record<string, unknown>
export type ParsedToml = { ok: true; table: TomlTable } | { ok: false; line: number; problem: string }

/** A TOML text as plain values, or where and why it is not one. */
export function parseToml(text: string): ParsedToml {
  try {
    return { ok: true, table: parse(withoutMark(text), { maxDepth: 50, unsafeKeyBehaviour: 'throw' }) }
  } catch (thrown) {
    if (thrown instanceof TomlError) return { ok: false, line: thrown.line, problem: firstLine(thrown.message) }
    return { ok: false, line: 1, problem: messageOf(thrown) }
  }
}

/** The line of each key and table of a text that parses, by its dotted path. */
export function tomlLines(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  const { entries, headers } = scanToml(text)
  for (const { path, line } of [...headers, ...entries].sort((a, b) => a.line - b.line)) {
    for (let depth = 1; depth <= path.length; depth++) {
      const key = path.slice(0, depth).join('.')
      if (!lines.has(key)) lines.set(key, line)
    }
  }
  return lines
}

/** Some editors put a byte order mark first. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

function firstLine(message: string): string {
  const line = message.split('\n')[0] ?? message
  return line.replace(/^Invalid TOML document: /, '')
}
