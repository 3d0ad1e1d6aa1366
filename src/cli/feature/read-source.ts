import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { AppError, messageOf } from '../../base/errors.ts'
import { MAX_DOCUMENT } from '../../domain/features/document.ts'

/** What a person wrote down, from a file or from standard input. */
export async function readSource(path: string): Promise<string> {
  const refused = (problem: string) => new AppError('feature_file', { path, problem })
  let found: string
  try {
    found = path === '-' ? await text(process.stdin) : decoded(readFileSync(path))
  } catch (error) {
    throw refused(messageOf(error))
  }
  if (found.trim() === '') throw refused('it is empty')
  if (found.length > MAX_DOCUMENT) throw refused(`it is longer than ${MAX_DOCUMENT.toLocaleString('en')} characters`)
  return found
}

function decoded(bytes: Buffer): string {
  const found = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  if (found.includes('\0')) throw new Error('it is not text')
  return found
}
