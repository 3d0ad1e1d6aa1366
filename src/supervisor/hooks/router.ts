import { LOOK } from '../../agents/hooks/refuse.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import type { Log } from '../../base/log.ts'
import {
  HOOK_SCHEMA_VERSION,
  type HookAnswer,
  type HookEvent,
  type HookEventKind,
  type HookEventOf,
  NO_OPINION,
} from '../../domain/hooks.ts'
import type { HookSettings } from './hook-settings.ts'

/** The hook that asks. */
export interface HookCaller {
  /** Of the event: the same event may come twice, and is stored once. */
  id: string
  /** The process that started the hook. */
  ppid: number
  /** The directory in which the vendor runs its hooks. */
  folder: string
  /** The vendor's environment, or some of it. */
  env: Record<string, string | undefined>
}

/** What a feature works with. It is the same in the daemon and in a hook that decides by itself because no daemon is there. */
export interface HookContext {
  paths: AppPaths
  /** The environment of the hook, which is the vendor's. */
  env: Record<string, string | undefined>
  caller: HookCaller
  /** The root of the project that `cwd` belongs to. */
  project: string
  log: Log
  /** Aborted shortly before the vendor stops waiting. */
  signal: AbortSignal
  /** The settings for this project, read on use. */
  settings(): Promise<HookSettings>
}

/** What a feature says to an event. `undefined`: nothing. One that throws is a refusal where calls are decided. */
export type AnswerEvent<Kind extends HookEventKind> = (
  event: HookEventOf<Kind>,
  context: HookContext,
) => Promise<Partial<HookAnswer> | undefined>

/** One responsibility at one or more kinds of events. */
export interface HookFeature {
  name: string
  kinds: readonly HookEventKind[]
  answer: AnswerEvent<HookEventKind>
}

/** A feature that is asked about these kinds only, so that it need not look. */
export function feature<Kind extends HookEventKind>(
  name: string,
  kinds: readonly Kind[],
  answer: AnswerEvent<Kind>,
): HookFeature {
  return { name, kinds, answer: answer as unknown as AnswerEvent<HookEventKind> }
}

/** The strictest decision wins. */
const STRICTNESS = ['none', 'allow', 'ask', 'continue', 'deny'] as const satisfies readonly HookAnswer['decision'][]

/** More context than this is not added to one event. */
const MAX_CONTEXT_CHARS = 9_000

/** Asks every feature of the event's kind and joins their answers. */
export async function answerHook(
  event: HookEvent,
  features: readonly HookFeature[],
  context: HookContext,
): Promise<HookAnswer> {
  const concerned = features.filter(({ kinds }) => kinds.includes(event.kind))
  const answers = await Promise.all(concerned.map(feature => askFeature(feature, event, context)))
  return answers.reduce(joinAnswers, NO_OPINION)
}

async function askFeature(feature: HookFeature, event: HookEvent, context: HookContext): Promise<HookAnswer> {
  try {
    return { ...NO_OPINION, ...(await feature.answer(event, context)) }
  } catch (error) {
    context.log.error({ error, feature: feature.name, event: event.native }, 'a feature of a hook failed')
    const isDecided = event.kind === 'tool_before' || event.kind === 'permission'
    return isDecided ? { ...NO_OPINION, decision: 'deny', reason: `${feature.name} failed. ${LOOK}` } : NO_OPINION
  }
}

function joinAnswers(one: HookAnswer, other: HookAnswer): HookAnswer {
  const isStricter = STRICTNESS.indexOf(other.decision) > STRICTNESS.indexOf(one.decision)
  const { decision, reason } = isStricter ? other : one
  // Of two that allow a call, one may have the answers to its questions.
  const input = isStricter ? other.input : (one.input ?? (one.decision === other.decision ? other.input : undefined))
  const context = joinTexts(one.context, other.context)?.slice(0, MAX_CONTEXT_CHARS)
  const notice = joinTexts(one.notice, other.notice)
  return {
    schema_version: HOOK_SCHEMA_VERSION,
    decision,
    ...(reason !== undefined && { reason }),
    ...(input !== undefined && { input }),
    ...(context !== undefined && { context }),
    ...(notice !== undefined && { notice }),
  }
}

function joinTexts(...texts: (string | undefined)[]): string | undefined {
  const said = texts.filter(text => text !== undefined && text !== '')
  return said.length === 0 ? undefined : said.join('\n\n')
}

/** Finds something out once, and only if somebody asks. */
export function onDemand<Value>(find: () => Promise<Value>): () => Promise<Value> {
  let found: Promise<Value> | undefined
  return () => {
    found ??= find()
    return found
  }
}
