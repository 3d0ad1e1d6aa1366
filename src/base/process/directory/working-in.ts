import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { promisify } from 'node:util'
import { commandOf, directoryOf, processTable } from '../process-table.ts'

/** A process and the directory in which it works. */
export interface WorkingProcess {
  pid: number
  command: string
}

/** Every process that works in a directory or below it; undefined where this system does not tell. */
export async function workingIn(directory: string): Promise<WorkingProcess[] | undefined> {
  const real = resolved(directory)
  const everyone = process.platform === 'linux' ? fromProc() : await fromLsof()
  return everyone
    ?.filter(({ cwd }) => cwd === real || cwd.startsWith(`${real}${sep}`))
    .map(({ pid }) => ({ pid, command: commandOf(pid) }))
}

interface Place {
  pid: number
  cwd: string
}

function fromProc(): Place[] {
  return processTable().map(({ pid }) => ({ pid, cwd: directoryOf(pid) }))
}

/** What lsof prints for other programs: a line `p<pid>`, then a line `n<path>`. It exits with 1 where it may not see everything. */
export function readLsof(text: string): Place[] {
  const found: Place[] = []
  let pid = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1))
    if (line.startsWith('n')) found.push({ pid, cwd: line.slice(1) })
  }
  return found
}

async function fromLsof(): Promise<Place[] | undefined> {
  const options = { timeout: 20_000, maxBuffer: 32_000_000 }
  const { stdout } = await promisify(execFile)('lsof', ['-n', '-P', '-a', '-d', 'cwd', '-F', 'pn'], options).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  )
  return stdout === '' ? undefined : readLsof(stdout)
}

function resolved(directory: string): string {
  try {
    return realpathSync(directory)
  } catch {
    return directory
  }
}
