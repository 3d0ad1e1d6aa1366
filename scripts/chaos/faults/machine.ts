import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FaultKind } from '../plan/fault-kinds.ts'
import type { RoundPlan } from '../plan/plan-round.ts'
import { SMALL_DISK } from './damage.ts'

/** The clock of a round; `move` shifts it for daemon and agents. */
export interface RoundClock extends Disposable {
  /** Variables for the daemon and for its agents, whose environment is filtered. */
  env: Record<string, string>
  move: ((byMs: number) => void) | undefined
}

/** The faults that this machine can inject. */
export interface Machine {
  /** Faults that cannot be injected here, and why. */
  notRun: { kind: FaultKind; why: string }[]
  clockFor(plan: RoundPlan): RoundClock
  /** Mounts a small file system for the data, if this user may; otherwise the store is told to take its disk for full. */
  diskFor(plan: RoundPlan, directory: string): Disposable
}

/** Enough for the rows of a round, and quickly filled. */
const DISK_SIZE = '16m'

/** Looks once. */
export function thisMachine(): Machine {
  const library = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]
  const notRun: Machine['notRun'] = [
    ...(library ? [] : [{ kind: 'clock-jump' as const, why: 'libfaketime is not installed' }]),
  ]
  const mayMount = canMount()
  return {
    notRun,
    clockFor: plan => (library && has(plan, 'clock-jump') ? movableClock(library) : REAL_CLOCK),
    diskFor: (plan, directory) => (mayMount && has(plan, 'disk-full') ? smallDisk(directory) : NOTHING),
  }
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined }
const REAL_CLOCK: RoundClock = { env: {}, move: undefined, ...NOTHING }

function has({ faults }: RoundPlan, kind: FaultKind): boolean {
  return faults.some(fault => fault.kind === kind)
}

function movableClock(library: string): RoundClock {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-chaos-clock-'))
  const file = join(folder, 'offset')
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  let offsetMs = 0
  const move = (byMs: number) => {
    offsetMs += byMs
    writeFileSync(file, `${offsetMs < 0 ? '-' : '+'}${Math.abs(Math.round(offsetMs / 1000))}s\n`)
  }
  move(0)
  return { env, move, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const probe = mkdtempSync(join(tmpdir(), 'pcc-chaos-disk-'))
  try {
    smallDisk(probe)[Symbol.dispose]()
    return true
  } catch {
    return false
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

function smallDisk(directory: string): Disposable {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE},mode=700`, 'tmpfs', directory], { stdio: 'pipe' })
  writeFileSync(join(directory, SMALL_DISK), '')
  const unmount = () => {
    if (existsSync(join(directory, SMALL_DISK))) execFileSync('umount', ['-l', directory], { stdio: 'pipe' })
  }
  // If the runner is interrupted, its mounts are removed too.
  process.once('exit', unmount)
  return {
    [Symbol.dispose]() {
      process.off('exit', unmount)
      unmount()
    },
  }
}
