import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { shortId } from '../src/base/ids.ts'

/** The processor time of some programs and of everything that they start, also of what outlives them. */
export interface ProcessorClock extends AsyncDisposable {
  /** How to start a program so that it counts. */
  counted(command: string, args: readonly string[]): [string, string[]]
  /** Milliseconds until now; undefined where the system cannot count them. */
  read(): number | undefined
}

const V1 = '/sys/fs/cgroup/cpuacct'
const V2 = '/sys/fs/cgroup'

/** A control group of the kernel counts. Without the right to make one, nothing is counted. */
export function openProcessorClock(): ProcessorClock {
  const group = join(existsSync(join(V1, 'cpuacct.usage')) ? V1 : V2, `pcc-bench-${shortId('g')}`)
  if (!isMade(group))
    return { counted: (command, args) => [command, [...args]], read: () => undefined, async [Symbol.asyncDispose]() {} }
  return {
    counted: (command, args) => [
      '/bin/sh',
      ['-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, command, ...args],
    ],
    read: () => readUsage(group),
    async [Symbol.asyncDispose]() {
      // Its last process may take a moment to go.
      for (let tries = 0; tries < 50 && existsSync(group); tries += 1) {
        try {
          rmdirSync(group)
        } catch {
          await sleep(100)
        }
      }
    },
  }
}

function isMade(group: string): boolean {
  try {
    mkdirSync(group)
    return readUsage(group) !== undefined
  } catch {
    return false
  }
}

function readUsage(group: string): number | undefined {
  const [old, now] = [join(group, 'cpuacct.usage'), join(group, 'cpu.stat')]
  if (existsSync(old)) return Number(readFileSync(old, 'utf8')) / 1e6
  const micros = existsSync(now) ? /^usage_usec (\d+)/m.exec(readFileSync(now, 'utf8'))?.[1] : undefined
  return micros === undefined ? undefined : Number(micros) / 1000
}
