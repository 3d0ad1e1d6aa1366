import type { CrashPointName } from '../../../src/base/crash-point.ts'
import { type AnswerPlan, planAnswers } from './answer-plan.ts'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.ts'
import { isOfRecovery, isOfWorkspace, pointOf } from './points.ts'
import { type Random, randomFrom } from './random.ts'
import { planRun, type RunWork } from './run-plan.ts'
import { planSession, type SessionPlan } from './session-plan.ts'
import { planFailover, planLogin } from './surroundings.ts'

/** One fault. */
export interface FaultPlan {
  kind: FaultKind
  /** When it happens, counted from the start of the first session. */
  atMs: number
  /** How long it lasts, if it lasts. */
  forMs: number
  /** The index of the affected session. */
  session: number
  /** For `crash-point`: the step, and at which pass the daemon dies. */
  point?: { name: CrashPointName; nth: number } | undefined
}

/** All random choices of a round, made beforehand. */
export interface RoundPlan {
  seed: number
  sessions: SessionPlan[]
  faults: FaultPlan[]
  /** Whether the daemon's small parent restarts it; otherwise the next caller that finds it gone does. */
  parent?: boolean
  /** Tasks that work in worktrees and are merged. */
  run?: RunWork | undefined
  /** How the person answers; at once if absent. */
  answers?: AnswerPlan | undefined
}

/** In every 25th round twenty sessions start at once; five of them run, and the others wait. */
const CROWD = 20
const CROWD_EVERY = 25

/** Plans a round. Pure: the same seed gives the same plan on every machine. */
export function planRound(seed: number): RoundPlan {
  const random = randomFrom(seed)
  const crowd = seed % CROWD_EVERY === 0
  const count = crowd ? CROWD : random.int(3, 5)
  const faults = planFaults(random, { count, seed })
  const needs = findNeeds(faults)
  const answers = planAnswers(seed)
  // At most one session of a round meets a limit, because waiting for a reset takes seconds that other rounds can use.
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

/** In every fourth round the daemon has a parent. */
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

/** What a round must contain for its daemon to reach the step at which it should die. */
function findNeeds(faults: FaultPlan[]) {
  const name = faults.find(({ point }) => point)?.point?.name
  return {
    limit: /^(limit|wake|resume|checkpoint)\./.test(name ?? ''),
    question: /^(question|answer)\./.test(name ?? ''),
    queue: (name ?? '').startsWith('next-task.'),
    run: name !== undefined && isOfWorkspace(name),
  }
}

/** After the clock was set back, the reset time of the vendor is far away, so limits are left out. */
function withFaults(sessions: SessionPlan[], faults: FaultPlan[]): SessionPlan[] {
  if (!faults.some(({ kind }) => kind === 'clock-jump')) return sessions
  return sessions.map(session => ({
    ...session,
    tasks: session.tasks.map(task => ({ ...task, steps: task.steps.filter(step => step.do !== 'limit') })),
  }))
}

/** Steps that are passed many times in a round; the others are passed a few times. */
const FREQUENT: ReadonlySet<CrashPointName> = new Set([
  'record.before-commit',
  'tool.before-verdict',
  'tool.after-verdict',
])

/** Faults that depend on the plan are planned with it. */
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
  // A daemon dies at one step at most. The steps take turns, so that each is reached regularly.
  const isPoint = random.chance(0.6)
  if (!isPoint) return [...others, { ...when(), kind: random.pick(AT_RANDOM) }]
  const name = pointOf(seed)
  const point = { name, nth: FREQUENT.has(name) ? random.int(1, 12) : 1 }
  // Only a daemon that takes over from a killed one reaches the steps of recovery.
  const killed = isOfRecovery(name) ? [{ ...when(), kind: 'kill-daemon' as const }] : []
  return [...others.slice(killed.length), ...killed, { ...when(), kind: 'crash-point', point }]
}
