import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number
  startTime: string
}

/** When the process began, as an opaque text that differs after a reboot too; undefined when it is gone or a zombie. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  const born = bornAt(pid)
  if (born === undefined) return undefined
  return process.platform === 'linux' ? `${bootId()}:${born}` : born
}

/** Whether that very process still runs. */
export async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  const found = await startTimeOf(pid)
  // A file of ours may be damaged: no start time at all must not pass for that of a process which is not there.
  return found !== undefined && found === startTime
}

/** The system's own word for the start: clock ticks since boot on Linux, a date elsewhere. Synchronous, for the moment of a spawn. */
export function bornAt(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  try {
    return process.platform === 'linux' ? bornOnLinux(pid) : bornByPs(pid)
  } catch {
    return undefined // no such process
  }
}

/** Fields are counted after the last bracket: a process may have any name, brackets and spaces included. */
function bornOnLinux(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function bornByPs(pid: number): string | undefined {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', env }).trim()
  const [state = '', ...date] = line.split(/\s+/)
  return state === '' || state.startsWith('Z') ? undefined : date.join(' ')
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}
