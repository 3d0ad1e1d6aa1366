import { createHash } from 'node:crypto'
import { type Clock, DAY_MS, systemClock } from '../base/clock.ts'
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
  /** Who answered, and on what day. */
  by: string
  day: string
}

export interface Precedents {
  /** Stores an answer for the next time; returns false if it may not be stored. */
  remember(precedent: Precedent, tx?: Tx): Promise<boolean>
  /** A person's earlier answer to the same request in the same project. */
  find(project: string, tool: string, assessment: Assessment): Promise<PrecedentAdvice | undefined>
}

/**
 * Answers to permissions that count again. This is only for MEDIUM: a LOW request needs no answer, and a HIGH one is asked every
 * time, so its answer is neither stored nor looked up, even if a row exists from a time when the same request was rated lower.
 * The same holds for a call of which the policy knows only the tool: one call of an MCP tool says nothing about the next.
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
      const request = { kind: 'permission', project, tool, normalised: kept, asked: kept } as const
      const answer = {
        verdict,
        answer: null,
        by,
        answered_at: clock.now(),
        session_id: session ?? null,
        lasting: false,
      }
      await store.answers.put({ ...request, ...answer, fingerprint: fingerprintRequest(tool, normalised) }, tx)
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
  /** How far earlier answers are trusted, and the time to compare their age with. */
  memory?: MemorySettings | undefined
  now?: number
}

/** The same for callers that only read. */
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
  const text = `${by} ${approve ? 'allowed' : 'refused'} the same request on ${day}`
  return { approve, confidence: memory.confidence, reason: approve ? text : `${text}; go on without it`, by, day }
}

/** A short key for a normalised request of any length: two requests are the same if their keys are. */
export function fingerprintRequest(tool: string, normalised: string): string {
  return createHash('sha256').update(`${tool}\0${normalised}`).digest('hex')
}

/** Whether the spelling is only the tool's name: an answer to one such call must not count for all of them. */
export function isToolOnly(tool: string, normalised: string): boolean {
  return normalised === tool
}

/** Commands may be a megabyte long; what a person reads later need not be. */
const LONGEST_STORED = 16_384

/** A normalised request as it is stored. */
export function truncateNormalised(normalised: string): string {
  return normalised.length > LONGEST_STORED ? `${normalised.slice(0, LONGEST_STORED).toWellFormed()}…` : normalised
}

/** How far earlier answers are trusted (`memory.answers_*`). */
export interface MemorySettings {
  /** The confidence in an answer to the very same request, 0 to 1. */
  confidence: number
  /** An older answer no longer counts, unless the person said that it lasts. */
  ttlMs: number
}

/** The defaults. A person's earlier answer to the very same request is worth nearly as much as a new one. */
export const STANDARD_MEMORY: MemorySettings = { confidence: 0.95, ttlMs: 90 * DAY_MS }

/** Converts the settings of the configuration. */
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
