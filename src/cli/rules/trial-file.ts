import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { readRules } from '../../policy/rules/read.ts'
import { parseRules } from '../../policy/rules/rules-file.ts'

/** The file of `--rules`. One that cannot be read as rules is refused: what came of it would be said about nobody's rules. */
export function trialFile(rules: string | undefined): string | undefined {
  if (rules === undefined) return undefined
  const file = resolve(rules)
  try {
    parseRules(file, readRules(file, { mustExist: true }))
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    throw new AppError('usage', { problem: `--rules: ${thrown.message}`, command: 'rules test' }, thrown)
  }
  return file
}
