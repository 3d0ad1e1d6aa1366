import { describeProcess, wears } from '../../base/process/peer.ts'
import { quoteForShell } from '../../base/words.ts'
import { isBroken, type VerificationResult } from '../../domain/evidence.ts'
import { type HookAnswer, type HookEventOf, TASK_ID } from '../../domain/hooks.ts'
import type { GateResultStore } from '../../store/task-stores.ts'
import { commandMarkers } from '../../workspace/command/run-command.ts'
import { hasCheckCommands } from '../../workspace/verify/unchecked.ts'
import { failureLine, failureReport } from '../completion/report-text.ts'
import { readCompletionClaim } from './completion-claims.ts'
import type { HookSettings } from './hook-settings.ts'
import { noteSteps, STEP_TOOLS } from './open-steps.ts'
import type { AnswerEvent, HookContext } from './router.ts'
import {
  type HookJudges,
  type HookWork,
  nameProjectTree,
  onlyCheapGates,
  readHead,
  runStopGates,
} from './run-stop-gates.ts'
import { changeSessionNotes, readSessionNotes, type SessionKey, type SessionNotes, saysFirst } from './session-notes.ts'
import { isContextFull, readLastWords } from './session-usage.ts'

/** What only a daemon has for the gates at a stop. */
export interface StopGateDeps {
  /** A task of the project by its id. */
  task?(id: string, context: HookContext): Promise<HookWork['task']>
  /** Agents that judge the work. */
  judges?(context: HookContext, settings: HookSettings): Promise<HookJudges>
  /** The green results of earlier runs of the same gates on the same files. */
  results?: GateResultStore | undefined
}

type StopEvent = HookEventOf<'stop'>
type Said = Partial<HookAnswer> | undefined

/**
 * Holds an agent that says that it is done until the gates pass. It is sent back with their report, never twice for the same
 * files and by one gate never more than `hooks.stop_blocks` times in a row, so that no agent is held for ever. It stops as it would
 * without us if it does not say that it is done, if its context is full, while work runs in the background, and when the time
 * for the hook is over.
 */
export function holdStops(deps: StopGateDeps): AnswerEvent<'session_start' | 'prompt' | 'tool_after' | 'stop'> {
  return async (event, context) => {
    if (event.kind === 'stop') return answerStop(event, context, deps)
    await (event.kind === 'session_start' ? noteBeginning(event, context) : noteWork(event, context))
    return undefined
  }
}

/** Tests are compared with those of the commit at which a conversation began. One that is resumed began earlier. */
async function noteBeginning(event: SessionKey, { paths, project, signal }: HookContext): Promise<void> {
  const head = await readHead(project, signal)
  if (head === undefined) return
  await changeSessionNotes(paths, event, notes => {
    notes.began ??= head
  })
}

/** What the conversation works on: the task that its person named, and the steps that the agent itself wrote down. */
async function noteWork(event: HookEventOf<'prompt' | 'tool_after'>, { paths }: HookContext): Promise<void> {
  const task = event.kind === 'prompt' ? TASK_ID.exec(event.text)?.[0] : undefined
  const isStep = event.kind === 'tool_after' && event.ok && event.agent_id === undefined && STEP_TOOLS.has(event.tool)
  if (task === undefined && !isStep) return
  await changeSessionNotes(paths, event, notes => {
    if (task !== undefined) notes.task = task
    if (isStep) noteSteps(notes, event)
  })
}

/** A subagent does a part of the work, so that it is not asked for the whole. */
async function findWork(event: StopEvent, context: HookContext, deps: StopGateDeps): Promise<HookWork | undefined> {
  if (event.agent_id !== undefined) return undefined
  const { task: id, steps } = await readSessionNotes(context.paths, event)
  const task = id === undefined ? undefined : await deps.task?.(id, context)
  const open = Object.values(steps).flatMap(step => (step.open ? [step.text] : []))
  return task === undefined && open.length === 0 ? undefined : { task, open }
}

async function answerStop(event: StopEvent, context: HookContext, deps: StopGateDeps): Promise<Said> {
  if (event.background > 0 || isInsideGate(context)) return undefined
  const work = await findWork(event, context, deps)
  if (!readCompletionClaim(readLastWords(event), { task: work?.task?.id })) return undefined
  const settings = await context.settings()
  if (!settings.gates || settings.stopBlocks === 0) return undefined
  if (isContextFull(event)) return sayOnce(event, context, { what: 'full context', notice: FULL_CONTEXT })
  const untrusted = await noticeWithheld(event, settings, context)
  const gates = event.agent_id === undefined ? settings.gates : onlyCheapGates(settings.gates)
  const judges = event.agent_id === undefined ? ((await deps.judges?.(context, settings)) ?? {}) : {}
  const isEmpty = !hasCheckCommands(gates) && work === undefined && Object.keys(judges).length === 0
  const notice = isEmpty ? undefined : await checkStop(event, context, { deps, settings, gates, judges, work })
  return joinNotices(untrusted, notice)
}

const FULL_CONTEXT = 'pcc: the context of the agent is full, so its work was not checked. To check it: pcc gates run'

/**
 * Whether the agent that stops was started by one of our gates, for example by the project's own tests: they must not begin again inside
 * themselves. A variable alone is no proof; the mark must be that of a command that runs.
 */
function isInsideGate({ paths, env, caller }: HookContext): boolean {
  const running = commandMarkers(paths.run).all()
  if (running.length === 0) return false
  const above = describeProcess(caller.ppid)
  return running.some(mark => mark === env['PCC_SESSION_MARK'] || (above.kind === 'process' && wears(above, mark)))
}

interface StopCheck {
  deps: StopGateDeps
  settings: HookSettings
  gates: NonNullable<HookSettings['gates']>
  judges: HookJudges
  work: HookWork | undefined
}

async function checkStop(event: StopEvent, context: HookContext, check: StopCheck): Promise<Said> {
  const { paths, project, signal } = context
  const { deps, settings, gates, judges, work } = check
  try {
    const tree = await nameProjectTree(project)
    const notes = await readSessionNotes(paths, event)
    const passed = `${event.agent_id === undefined ? gates.profile : 'cheap'} ${tree}`
    if (notes.passed === passed && work === undefined) return undefined
    const same = findBlock(notes, [tree ?? NO_TREE])
    const although = `pcc: the agent stops although these checks failed: ${same?.gates.join(', ')}.`
    if (same) return sayOnce(event, context, { what: although, notice: although })
    const began = notes.began ?? (await readHead(project, signal))
    const result = await runStopGates({ gates, settings, work, judges, began, tree, results: deps.results, context })
    if (result.status === 'failed') {
      const trees = [tree ?? NO_TREE, (await nameProjectTree(project)) ?? NO_TREE]
      return await block(event, context, { result, trees, most: settings.stopBlocks })
    }
    if (result.status === 'broken') return { notice: `pcc: the checks could not run: ${brokenGates(result)}.` }
    await changeSessionNotes(paths, event, after => {
      after.passed = passed
      after.settled = after.blocks.length
    })
    return undefined
  } catch (error) {
    if (!signal.aborted) throw error
    return {
      notice: 'pcc: the checks did not end in time, so nothing shows that the work is done. Run them: pcc gates run',
    }
  }
}

/** Without git all files count as one tree: the agent is sent back once. */
const NO_TREE = 'no git'

/** The stop that was refused for these files already. */
function findBlock({ blocks }: SessionNotes, trees: readonly string[]) {
  return blocks.find(block => block.trees.some(tree => trees.includes(tree)))
}

/** How often one of these gates sent the conversation back, the least of them: each has its own count, which begins anew once all passed. */
function leastBlocks({ blocks, settled }: SessionNotes, gates: readonly string[]): number {
  const counted = blocks.slice(settled).flatMap(block => block.gates)
  return Math.min(...gates.map(gate => counted.filter(each => each === gate).length))
}

interface FailedStop {
  result: VerificationResult
  trees: string[]
  most: number
}

/** Sends the agent back, unless another hook did so for the same files a moment ago. */
async function block(event: StopEvent, { paths }: HookContext, { result, trees, most }: FailedStop): Promise<Said> {
  const gates = result.checks.filter(({ status }) => status === 'failed').map(({ gate }) => gate)
  const number = await countBlock(paths, event, { gates, trees, most })
  if (number === undefined) return { notice: `pcc: the agent stops although ${failureLine(result)}` }
  return { decision: 'continue', reason: capReport(failureReport(result, { number, of: most })) }
}

/** Records that a stop is refused, and returns which time it is; undefined if this one may not be. */
export function countBlock(
  paths: HookContext['paths'],
  key: SessionKey,
  { gates, trees, most }: { gates: string[]; trees: string[]; most: number },
): Promise<number | undefined> {
  return changeSessionNotes(paths, key, notes => {
    const number = leastBlocks(notes, gates) + 1
    if (findBlock(notes, trees) || number > most) return undefined
    notes.blocks.push({ gates, trees: [...new Set(trees)] })
    return number
  })
}

/** Vendors cut what a hook says, and cut the end, which says what to do. */
const LONGEST_REPORT = 9_000
const LONGEST_END = 1_500

function capReport(report: string): string {
  if (report.length <= LONGEST_REPORT) return report
  const first = report.slice(0, LONGEST_REPORT - LONGEST_END).toWellFormed()
  return `${first}\n[…]\n${report.slice(-LONGEST_END).toWellFormed()}`
}

function brokenGates({ checks }: VerificationResult): string {
  const broken = checks.filter(isBroken)
  return broken.map(({ gate, findings }) => `${gate} (${findings[0]?.text ?? 'no reason given'})`).join(', ')
}

/** Gates that nobody has agreed to have no effect; the person is told so once in a conversation. */
async function noticeWithheld(event: StopEvent, { withheld }: HookSettings, context: HookContext): Promise<Said> {
  if (withheld.length === 0) return undefined
  const notice = `pcc: these checks of the project do not run until you agree to them: ${withheld.join(', ')}. To look at them and agree: pcc trust ${quoteForShell(context.project)}`
  return sayOnce(event, context, { what: 'withheld gates', notice })
}

async function sayOnce(
  event: StopEvent,
  { paths }: HookContext,
  { what, notice }: { what: string; notice: string },
): Promise<Said> {
  return (await saysFirst(paths, event, { what })) ? { notice } : undefined
}

function joinNotices(one: Said, other: Said): Said {
  if (!one || !other) return other ?? one
  const notice = [one.notice, other.notice].filter(text => text !== undefined).join('\n')
  return { ...other, ...(notice !== '' && { notice }) }
}
