import type { CrashPointName } from '../../../src/base/crash-point.ts'
import { type AnswerPlan, planAnswers } from './answer-plan.ts'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.ts'
import { isOfRecovery, isOfWorkspace, pointOf } from './points.ts'
import { type Random, randomFrom } from './random.ts'
import { planRun, type RunWork } from './run-plan.ts'
import { planSession, type SessionPlan } from './session-plan.ts'
import { planFailover, planLogin } from './surroundings.ts'

/** One thing that goes wrong. */
export interface FaultPlan {
  kind: FaultKind
  /** When, from the moment the first session is there. */
  atMs: number
  /** How long it lasts, where it lasts. */
  forMs: number
  /** Which session it is about, by its place. */
  session: number
  /** Of `crash-point`: the step, and at which time it is passed. */
  point?: { name: CrashPointName; nth: number } | undefined
}

/** Everything about a round that is left to chance, decided beforehand. */
export interface RoundPlan {
  seed: number
  sessions: SessionPlan[]
  faults: FaultPlan[]
  /** The daemon is kept by its small parent, and not started again by whoever finds it gone. */
  parent?: boolean
  /** Tasks that work in worktrees and are merged. */
  run?: RunWork | undefined
  /** How the person answers; at once where nothing is said. */
  answers?: AnswerPlan | undefined
}

/** Twenty at once in every so many rounds; five of them have a place, the others stand in line. */
const CROWD = 20
const CROWD_EVERY = 25

/** The plan of a round. Pure: one seed, one plan, on every machine. */
export function planRound(seed: number): RoundPlan {
  const random = randomFrom(seed)
  const crowd = seed % CROWD_EVERY === 0
  const count = crowd ? CROWD : random.int(3, 5)
  const faults = planFaults(random, { count, seed })
  const needs = needsOf(faults)
  const answers = planAnswers(seed)
  // At most one of a round meets a limit: whoever waits for a reset takes seconds that other rounds can use.
  const limited = needs.limit || (!crowd && random.chance(0.2)) ? random.int(0, count - 1) : -1
  const stormy = random.chance(0.35)
  const planned = Array.from({ length: count }, (_, place) =>
    planSession(place, random, {
      limited: place === limited,
      small: crowd,
      stormy,
      asks: (needs.question || answers !== undefined) && place === 0,
      queues: needs.queue && place === 0,
    }),
  )
  const kept = planParent(seed)
  const { run, faults: ofRun } = planRun(seed, { isNeeded: needs.run })
  const sessions = withFaults(planned, faults)
  const others = crowd ? [] : [planLogin(seed, sessions), planFailover(seed, sessions, faults)].flat()
  const all = [...faults, ...kept.faults, ...ofRun, ...others].sort((a, b) => a.atMs - b.atMs)
  return { seed, sessions, faults: all, parent: kept.parent, ...(run && { run }), ...(answers && { answers }) }
}

/** Every fourth round. */
function planParent(seed: number): { parent: boolean; faults: FaultPlan[] } {
  const random = randomFrom(seed ^ 0x5bd1e995)
  if (!random.chance(0.25)) return { parent: false, faults: [] }
  const fault: FaultPlan = {
    kind: 'kill-parent',
    atMs: random.int(100, 3_500),
    forMs: random.int(300, 1_500),
    session: 0,
  }
  return { parent: true, faults: random.chance(0.7) ? [fault] : [] }
}

/** What must be there for a daemon to come to the step at which it is to die. */
function needsOf(faults: FaultPlan[]) {
  const name = faults.find(({ point }) => point)?.point?.name
  return {
    limit: /^(limit|wake|resume|checkpoint)\./.test(name ?? ''),
    question: /^(question|answer)\./.test(name ?? ''),
    queue: (name ?? '').startsWith('next-task.'),
    run: name !== undefined && isOfWorkspace(name),
  }
}

/** With a clock that was set back, a reset that the vendor named by the clock is rightly far away. */
function withFaults(sessions: SessionPlan[], faults: FaultPlan[]): SessionPlan[] {
  if (!faults.some(({ kind }) => kind === 'clock-jump')) return sessions
  return sessions.map(session => ({
    ...session,
    tasks: session.tasks.map(task => ({ ...task, steps: task.steps.filter(step => step.do !== 'limit') })),
  }))
}

/** Passed many times in a round; the others a few times. */
const FREQUENT: ReadonlySet<CrashPointName> = new Set([
  'record.before-commit',
  'tool.before-verdict',
  'tool.after-verdict',
])

/** Those that need something of the plan are planned with it. */
const PLANNED_APART: ReadonlySet<FaultKind> = new Set([
  'vendor-storm',
  'crash-point',
  'kill-parent',
  'failover',
  'login-gone',
  'dirty-checkout',
  'remote-gone',
])
const AT_RANDOM = FAULT_KINDS.filter(kind => !PLANNED_APART.has(kind))

function planFaults(random: Random, { count, seed }: { count: number; seed: number }): FaultPlan[] {
  const when = () => ({
    atMs: random.int(100, 3_500),
    forMs: random.int(300, 1_500),
    session: random.int(0, count - 1),
  })
  const others = Array.from({ length: random.int(0, 2) }, () => ({ ...when(), kind: random.pick(AT_RANDOM) }))
  // A daemon is told one step at most. They take turns, so that each comes in every so many rounds.
  const isPoint = random.chance(0.6)
  if (!isPoint) return [...others, { ...when(), kind: random.pick(AT_RANDOM) }]
  const name = pointOf(seed)
  const point = { name, nth: FREQUENT.has(name) ? random.int(1, 12) : 1 }
  // Only who takes over from a daemon that was killed comes to the steps of recovery.
  const killed = isOfRecovery(name) ? [{ ...when(), kind: 'kill-daemon' as const }] : []
  return [...others.slice(killed.length), ...killed, { ...when(), kind: 'crash-point', point }]
}
