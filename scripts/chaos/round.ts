import { setTimeout as sleep } from 'node:timers/promises'
import { driveToEnd, startSession } from './drive.ts'
import { inject, LASTING } from './faults/inject.ts'
import type { Machine } from './faults/machine.ts'
import { DaemonRunner } from './fixture/daemon-runner.ts'
import { openFixture } from './fixture/open-fixture.ts'
import { PROMISED_MS, toleranceMs } from './fixture/outliving.ts'
import { processesOf, watchAgents } from './fixture/processes.ts'
import { runFacts } from './fixture/run-project.ts'
import { type History, type Injected, readHistory } from './history.ts'
import { violationsIn } from './invariants/all.ts'
import type { Violation } from './invariants/violation.ts'
import type { RoundPlan } from './plan/plan-round.ts'
import { isOfRecovery } from './plan/points.ts'
import { startRun } from './start-run.ts'

export interface RoundOptions {
  machine: Machine
  agentHome: string
  /** The checkout whose daemon runs, if it is not this one. */
  source?: string | undefined
}

export interface RoundResult {
  plan: RoundPlan
  history: History
  violations: Violation[]
  ms: number
}

/** Plays one round by its plan: injects faults, restarts the daemon until all work is over, and checks the invariants. */
export async function runRound(plan: RoundPlan, options: RoundOptions): Promise<RoundResult> {
  const began = performance.now()
  using clock = options.machine.clockFor(plan)
  await using fixture = await openFixture(plan, { ...options, clock: clock.env })
  using _disk = options.machine.diskFor(plan, fixture.paths.data)
  const runner = new DaemonRunner({
    folder: fixture.folder,
    paths: fixture.paths,
    env: fixture.env,
    envOfBoot: boot => crashEnv(plan, boot),
    parent: plan.parent,
    source: options.source,
  })
  const complaints: string[] = []
  const faults: Injected[] = []
  const overwritten: string[] = []
  const waits: History['waits'] = []
  const drive = { fixture, runner, plan, complaints, faults, waits }
  let quietSince = Number.POSITIVE_INFINITY
  let isOver = false
  let doubles: string[] = []
  {
    await using watch = watchAgents(fixture.folder)
    await runner.up()
    const starts = [
      ...plan.sessions.map(session => startSession(session, drive)),
      ...(plan.run ? [startRun(plan.run, drive)] : []),
    ]
    const started = Promise.all(starts)
    // Faults wait until there is something to hit.
    const injected = Promise.race(starts).then(() =>
      injectAll(plan, { fixture, runner, run: plan.run, overwritten, moveClock: clock.move }, faults),
    )
    const everything = Promise.all([started, injected]).then(() => {
      quietSince = Date.now()
    })
    isOver = await driveToEnd(drive, () => quietSince)
    await everything
    await runner.end()
    doubles = [...watch.doubles.values(), ...runner.doubles, ...fixture.programs.overlaps()]
  }
  const orphans = await findLeftovers(fixture.folder)
  if (!isOver) complaints.push('work was not over in time')
  const deaths = runner.boots.flatMap(({ endedAt }) => endedAt ?? [])
  complaints.push(...runner.complaints)
  const { outlived, errors } = runner
  const run = plan.run && runFacts(fixture.projectOf(plan.run), plan.run.tasks)
  const saw = { faults, deaths, waits, orphans, outlived, doubles, errors, overwritten, complaints }
  const history = readHistory(fixture, plan.sessions, { run, ...saw })
  noteHits(history)
  return { plan, history, violations: violationsIn(history), ms: performance.now() - began }
}

type InjectionContext = Omit<Parameters<typeof inject>[1], 'session'>

/** Injects the faults one after the other, each at its time. */
async function injectAll(plan: RoundPlan, where: InjectionContext, faults: Injected[]): Promise<void> {
  const began = Date.now()
  const lasting: Promise<unknown>[] = []
  for (const fault of plan.faults) {
    await sleep(Math.max(0, began + fault.atMs - Date.now()))
    const injected = inject(fault, { ...where, session: plan.sessions[fault.session] }).then(result =>
      faults.push(result),
    )
    if (LASTING.has(fault.kind)) lasting.push(injected)
    else await injected
  }
  await Promise.all(lasting)
}

/** Some faults are part of the scenario; whether they hit is known only at the end. */
function noteHits({ faults, died, events }: History): void {
  for (const fault of faults) {
    if (fault.step !== undefined) fault.hit = died.includes(fault.step)
    if (fault.kind === 'failover') fault.hit = events.some(({ kind }) => kind === 'agent.changed')
  }
}

/** The first daemon dies at the planned step. A step of recovery needs a daemon that died before. */
function crashEnv({ faults }: RoundPlan, boot: number): Record<string, string> {
  const point = faults.find(({ kind }) => kind === 'crash-point')?.point
  if (!point || boot !== (isOfRecovery(point.name) ? 1 : 0)) return {}
  return { PCC_CRASH_AT: `${point.name}:${point.nth}` }
}

/** A daemon ends its agents before it exits; processes that remain a moment later are leftovers. */
async function findLeftovers(folder: string): Promise<string[]> {
  const end = Date.now() + PROMISED_MS + toleranceMs()
  for (;;) {
    const left = processesOf(folder)
    if (left.length === 0) return []
    if (Date.now() > end) {
      // They are ours and are killed by pid, so that the next round does not meet them.
      for (const { pid } of left) kill(pid)
      return left.map(({ pid, command }) => `${pid} ${command.slice(0, 120)}`)
    }
    await sleep(50)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it ended by itself
  }
}
