import { parse } from 'unbash'
import { convert } from './convert.ts'
import type { Reading } from './tree.ts'

/** Reads a command as bash would, or says where it could not. Never throws: whatever goes wrong is an error of the reading. */
export function parseShell(source: string): Reading {
  try {
    return convert(parse(source), source)
  } catch (error) {
    return unread(source, error instanceof Error ? error.message : 'the parser failed')
  }
}

/** What stands in place of a reading that could not be made: an error, which is HIGH. */
export function unread(source: string, message: string): Reading {
  const at = [0, source.length] as const
  return { script: { at, body: [] }, errors: [{ message, at }] }
}
