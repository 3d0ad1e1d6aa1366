import { readFileSync, statSync } from 'node:fs'
import { AppError, messageOf } from '../../base/errors.ts'

/** Far beyond what a person writes; each rule is looked at for every request. */
const MAX_BYTES = 256 * 1024

/** The text of a rules file; empty when there is none. */
export function readRules(file: string, { mustExist = false } = {}): string {
  try {
    const found = statSync(file)
    // Opening a pipe would wait for a writer for ever.
    if (!found.isFile()) throw new Error('it is no regular file')
    if (found.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`)
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if ((code === 'ENOENT' || code === 'ENOTDIR') && !mustExist) return ''
    throw new AppError('rules_invalid', { file, line: 1, problem: PROBLEMS[code ?? ''] ?? messageOf(thrown) }, thrown)
  }
}

const PROBLEMS: Record<string, string> = {
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not text in UTF-8',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'it may not be read',
}
