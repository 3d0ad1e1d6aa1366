import { createHash } from 'node:crypto'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Assessment } from '../domain/assessment.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { Risk } from '../domain/session.ts'
import type { AnswerStore, Store, Tx } from '../store/store.ts'

export interface Precedent {
  project: string
  tool: string
  normalised: string
  risk: Risk
  verdict: 'allow' | 'deny'
  by: string
  session?: string | undefined
}

export interface PrecedentAdvice {
  approve: boolean
  confidence: number
  reason: string
  /** Who answered, and on which day. */
  by: string
  day: string
}

export interface Precedents {
  /** Keeps an answer for the next time; false where nothing is kept. */
  remember(precedent: Precedent, tx?: Tx): Promise<boolean>
  /** What a person answered to the same request in the same project before. */
  find(project: string, tool: string, assessment: Assessment): Promise<PrecedentAdvice | undefined>
}

/**
 * Answers that count again. Only for MEDIUM: a LOW request needs none, and a HIGH one is a question every time, so it is
 * neither kept nor looked up, even if a row for the same words exists from a time when they were less dangerous. Nor is a
 * call of which the policy can tell only the tool: one call of a server's tool says nothing about the next.
 */
export function openPrecedents(
  store: Pick<Store, 'answers'>,
  clock: Clock = systemClock,
  memory: MemorySettings = STANDARD_MEMORY,
): Precedents {
  return {
    async remember({ project, tool, normalised, risk, verdict, by, session }, tx) {
      if (risk !== 'MEDIUM' || isToolOnly(tool, normalised)) return false
      const kept = truncateNormalised(normalised)
      const of = { kind: 'permission', project, tool, normalised: kept, asked: kept } as const
      const said = { verdict, answer: null, by, answered_at: clock.now(), session_id: session ?? null, lasting: false }
      await store.answers.put({ ...of, ...said, fingerprint: fingerprintRequest(tool, normalised) }, tx)
      return true
    },
    find: (project, tool, assessment) => {
      return findPrecedent(store.answers, { project, tool, assessment, memory, now: clock.now() })
    },
  }
}

interface PrecedentRequest {
  project: string
  tool: string
  assessment: Assessment
  /** How far earlier answers are trusted, and the time by which they are old. */
  memory?: MemorySettings | undefined
  now?: number
}

/** The same for who only reads. */
export async function findPrecedent(
  answers: Pick<AnswerStore, 'find'>,
  { project, tool, assessment: { risk, normalised }, memory = STANDARD_MEMORY, now = Date.now() }: PrecedentRequest,
): Promise<PrecedentAdvice | undefined> {
  if (risk !== 'MEDIUM' || isToolOnly(tool, normalised)) return undefined
  const answer = await answers.find(project, fingerprintRequest(tool, normalised))
  if (!answer || !isFresh(answer, memory, now)) return undefined
  const { by, verdict, answered_at } = answer
  const approve = verdict === 'allow'
  const day = new Date(answered_at).toISOString().slice(0, 10)
  const said = `${by} ${approve ? 'allowed' : 'refused'} the same request on ${day}`
  return { approve, confidence: memory.confidence, reason: approve ? said : `${said}; go on without it`, by, day }
}

/** A short stand-in for a normalised request, whatever its length: two requests are the same when it is. */
export function fingerprintRequest(tool: string, normalised: string): string {
  return createHash('sha256').update(`${tool}\0${normalised}`).digest('hex')
}

/** Whether the spelling tells nothing but the tool: what is said to one such call must not count for all of them. */
export function isToolOnly(tool: string, normalised: string): boolean {
  return normalised === tool
}

/** Commands may be a megabyte; what a person reads later need not be. */
const KEPT = 16_384

/** A normalised request as it is stored. */
export function truncateNormalised(normalised: string): string {
  return normalised.length > KEPT ? `${normalised.slice(0, KEPT).toWellFormed()}…` : normalised
}

/** How far earlier answers are trusted (`memory.answers_*`). */
export interface MemorySettings {
  /** Of an answer to the very same request, 0 to 1. */
  confidence: number
  /** After this an answer counts no more, unless it was said to last. */
  ttlMs: number
}

const DAY_MS = 86_400_000

/** A person's word on the very same request: only a fresh word is worth more. */
export const STANDARD_MEMORY: MemorySettings = { confidence: 0.95, ttlMs: 90 * DAY_MS }

/** The settings as this part wants them. */
export function readMemorySettings(config: { answers_ttl_days: number; answers_confidence: number }): MemorySettings {
  return { confidence: config.answers_confidence, ttlMs: config.answers_ttl_days * DAY_MS }
}

/** Whether an answer still counts. */
export function isFresh(
  { lasting, answered_at }: Pick<RememberedAnswer, 'lasting' | 'answered_at'>,
  { ttlMs }: MemorySettings,
  now: number,
): boolean {
  return lasting || now - answered_at < ttlMs
}
