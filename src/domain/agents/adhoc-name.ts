import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { isFile, isPython } from './command-words.ts'

/**
 * What an agent is called that only a command line names: its program and what that runs, and a mark of the whole line, so that no two are
 * called the same, nor one like an agent of the settings. Other words of the line are left out: one of them may be a secret.
 */
export function adhocName([program = '', ...words]: readonly string[]): string {
  const mark = createHash('sha256')
    .update(JSON.stringify([program, ...words]))
    .digest('hex')
    .slice(0, 6)
  const runs = whatItRuns(basename(program), words)
  return `${[basename(program), ...(runs === undefined ? [] : [runs])].join(' ').slice(0, 60)} (${mark})`
}

function whatItRuns(program: string, words: readonly string[]): string | undefined {
  const module = isPython(program) ? words.indexOf('-m') : -1
  if (module >= 0) return words.slice(module, module + 2).join(' ')
  const file = words.find(word => isFile(word) && !word.includes('='))
  if (file !== undefined) return basename(file)
  const [first = ''] = words
  return words.find(word => /^@[\w.-]+\/[\w.@-]+$/.test(word)) ?? (/^[a-z][\w-]*$/.test(first) ? first : undefined)
}
