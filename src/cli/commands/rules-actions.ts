import { join, resolve } from 'node:path'
import { ownFolders } from '../../base/app-paths.ts'
import { DAY_MS, dateTime, systemClock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { findNearestWord } from '../../base/words.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import { openClassifier } from '../../policy/classify/classify.ts'
import { KNOWN_TOOLS } from '../../policy/classify/tool-use.ts'
import type { Advice } from '../../policy/verdict/decide.ts'
import { addRule, removeRule } from '../../policy/verdict/edit-rules.ts'
import { rowsOfRules } from '../../policy/verdict/load-rules.ts'
import {
  describeRule,
  findRule,
  type PolicyRule,
  parsePattern,
  rulesFromAllowedTools,
} from '../../policy/verdict/rules.ts'
import {
  findProjectRules,
  parseRules,
  projectRulesFile,
  readRules,
  userRulesFile,
  type WrittenRule,
} from '../../policy/verdict/rules-file.ts'
import { openRememberedAnswers, type RecordedRequest, readRecordedRequests } from '../../store/offline-reads.ts'
import { judgeExplained, judgeInTask, loadProjectPolicy, type ProjectPolicy } from '../../supervisor/judge-call.ts'
import { type CommandContext, ExitCode } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { counted, duration, shownPath } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, type Tone } from '../render/text.ts'
import { recordWith } from './accept.ts'
import { deciderOf } from './explain-call.ts'

/**
 * Prints the rules in force in this directory, each with its number, and the rules that wait for trust. An invalid file is
 * reported together with the rules that remain in force, and by the exit code.
 */
export async function listRules({ paths, env, json, out, terminal }: CommandContext): Promise<void> {
  const policy = await loadProjectPolicy({ paths, env, project: process.cwd() })
  const { problem } = policy.rules
  const rows = rowsOfRules(policy.rules, policy.userFile)
  if (json) {
    out(
      JSON.stringify(
        { rules: rows, problem: problem ? { code: problem.code, message: problem.message } : null },
        null,
        2,
      ),
    )
    if (problem) throw new ExitCode(problem.exit)
    return
  }
  if (problem) out(`${terminal.paint('red', 'wrong:')} ${neutral(problem.message)}. ${problem.next}`)
  const home = env['HOME']
  for (const scope of ['user', 'project'] as const) {
    const own = rows.filter(candidate => candidate.scope === scope).sort((one, other) => one.number - other.number)
    if (own.length === 0) continue
    const [first] = own
    out(
      terminal.paint(
        'bold',
        `${scope === 'user' ? 'Yours' : "The project's"}: ${shownPath(first?.file ?? '', process.cwd(), home)}`,
      ),
    )
    for (const { number, in_force, ...rule } of own) {
      const mark = in_force ? '' : terminal.paint('yellow', '  (waits for pcc trust)')
      out(`${String(number).padStart(4)}  ${neutral(describeRule(rule))}${mark}`)
    }
  }
  if (problem) throw new ExitCode(problem.exit)
  if (rows.length === 0) out("No rules. Add one with: pcc rules add allow Bash 'npm run *'")
}

interface RuleScope {
  project?: boolean
}

/** `pcc rules add` */
export async function writeRule(context: CommandContext, rule: PolicyRule, scope: RuleScope): Promise<void> {
  refuseInSession(context.env, `rules add ${rule.effect} …`)
  refuseUseless(rule)
  const added = await addRule(await locateRules(context, scope), rule)
  printRule(context, 'Added', added)
  if (scope.project && rule.effect === 'allow') context.note('It counts here after: pcc trust .')
  if (rule.tool === 'Bash' && rule.match !== undefined && !parsePattern(rule.match))
    context.note('It is not a single command or pipe, so it counts only for exactly this text.')
  else if (rule.effect === 'allow' && /[*]/.test(rule.match ?? '*'))
    context.note('HIGH risk is let through only by a rule for exactly that request, without a *.')
  await noteTaskRefusal(rule, context)
}

/** A rule that seems to help where it cannot is said to be without effect there. */
async function noteTaskRefusal(
  { effect, tool, match }: PolicyRule,
  { paths, env, note }: CommandContext,
): Promise<void> {
  if (effect === 'deny' || tool !== 'Bash' || match === undefined) return
  using classifier = openClassifier({ own: ownFolders(paths) })
  const project = process.cwd()
  const policy = await loadProjectPolicy({ paths, env, project })
  const call = { tool, input: { command: match }, project, home: env['HOME'] || paths.home }
  const why = (await judgeInTask(call, { classifier, policy }))?.refusal
  if (why !== undefined)
    note(neutral(`It has no effect in the worktree of a task, where nobody can allow this: ${why}`))
}

/** `pcc rules remove` */
export async function deleteRule(context: CommandContext, number: number, scope: RuleScope): Promise<void> {
  refuseInSession(context.env, `rules remove ${number}`)
  printRule(context, 'Removed', await removeRule(await locateRules(context, scope), number))
}

/** The rules file to edit and its lock. */
async function locateRules({ paths }: CommandContext, { project }: RuleScope) {
  const directory = process.cwd()
  const projectFile = async () => (await findProjectRules(paths, directory)) ?? projectRulesFile(directory)
  const file = project ? await projectFile() : userRulesFile(paths)
  if (project && file === userRulesFile(paths))
    throw new AppError('usage', {
      problem: 'the rules in this directory are your own; leave --project out',
      command: 'rules',
    })
  const lockFile = join(paths.home, 'rules.lock')
  return project ? { file, lockFile } : { file, lockFile, record: recordWith(paths) }
}

/** Rejects a rule that would be written but could never match. */
function refuseUseless({ effect, tool, match }: PolicyRule): void {
  if (match?.trim() === '') {
    const problem = 'a pattern cannot be empty; leave it out for every call of the tool'
    throw new AppError('usage', { problem, command: 'rules add' })
  }
  if (effect !== 'allow' || tool !== 'Bash' || match === undefined) return
  const stages = parsePattern(match)?.stages.length ?? 1
  if (stages > 1 && match.includes('*'))
    throw new AppError('usage', {
      problem: 'an allow rule with * is for one command; each command of a pipe needs its own',
      command: 'rules add',
    })
}

function printRule({ json, out }: CommandContext, action: string, { rule, file, line, number }: WrittenRule): void {
  out(
    json
      ? JSON.stringify({ number, ...rule, file, line })
      : neutral(`${action}: ${describeRule(rule)}  (${file}:${line})`),
  )
}

/**
 * A rule for an unknown tool never counts, and a deny rule that never counts looks like protection. A misspelt tool name is
 * rejected; for any other unknown name a remark is returned, because agents get new tools.
 */
export function checkTool(tool: string): string | undefined {
  if (KNOWN_TOOLS.includes(tool) || tool.startsWith('mcp__')) return undefined
  if (tool.includes('*')) return undefined
  const nearest = findNearestWord(
    tool,
    KNOWN_TOOLS.map(name => ({ form: name.toLowerCase(), means: name })),
  )
  if (nearest !== undefined)
    throw new AppError('usage', {
      problem: `there is no tool "${tool}"; did you mean ${nearest}?`,
      command: 'rules add',
    })
  return `${tool} is no tool that pcc knows: if there is none of this name, the rule never counts.`
}

/** Shows which rules match a command here and how it would be decided. */
export async function testCommand(
  context: CommandContext,
  command: string,
  options: { rules?: string },
): Promise<void> {
  const { paths, env, json, out, note, terminal } = context
  const project = process.cwd()
  const userFile = trialFile(options.rules)
  using answers = openRememberedAnswers(paths.database)
  const policy = await loadProjectPolicy({ paths, env, project, userFile, answers })
  using classifier = openClassifier({ own: ownFolders(paths) })
  const call = { tool: 'Bash', input: { command }, project, home: env['HOME'] || paths.home }
  const { assessment, decision, remembered } = await judgeExplained(call, { classifier, policy, attached: false })
  const matching = policy.rules.written.filter(({ rule }) => findRule(call.tool, assessment, [rule]) !== undefined)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  const { verdict, risk, by, reason } = decision
  if (json) {
    const rules = matching.map(({ rule, file, line, number }) => ({ number, ...rule, file, line }))
    out(JSON.stringify({ command, verdict, risk, by, reason, rule: decision.rule ?? null, matching: rules }, null, 2))
    return
  }
  const decider = neutral(deciderOf({ call, assessment, decision, policy, remembered }))
  out(`${terminal.paint('bold', verdict)}  ${risk} risk; ${by === 'precedent' ? '' : 'decided by '}${decider}`)
  out(matching.length === 0 ? 'No rule matches.' : 'Rules that match:')
  for (const { rule, file, line } of matching) {
    const mark = by === 'rule' && describeRule(rule) === decision.rule ? '>' : ' '
    out(` ${mark} ${neutral(describeRule(rule))}  ${terminal.paint('dim', `${file}:${line}`)}`)
  }
}

/** The most changes that are listed; the counts cover all of them. */
const MOST_CHANGES = 1000

/** Decides recorded requests again under the current rules and shows those that would be decided differently. Nothing is run. */
export async function replay(
  context: CommandContext,
  { since = 7 * DAY_MS, rules }: { since?: number; rules?: string },
): Promise<void> {
  const { paths, env, json, out, note } = context
  const userFile = trialFile(rules)
  const from = systemClock.now() - since
  const home = env['HOME'] || paths.home
  const policies = new Map<string, ProjectPolicy>()
  const policyFor = async (project: string): Promise<ProjectPolicy> => {
    const policy = policies.get(project) ?? (await loadProjectPolicy({ paths, env, project, userFile }))
    policies.set(project, policy)
    return policy
  }
  const { problem } = await policyFor(process.cwd())
  if (problem) note(`${problem.message}. ${problem.next}`)

  using classifier = openClassifier({ own: ownFolders(paths) })
  const counts = { requests: 0, changed: 0 }
  const changes: ReplayChange[] = []
  for await (const recorded of readRecordedRequests(paths.database, from)) {
    counts.requests++
    const { request, project, allowedTools } = recorded
    const { tool, input } = request
    const { decision } = await judgeExplained(
      { tool, input, project, home },
      {
        classifier,
        policy: await policyFor(project),
        attached: wasAsked(recorded),
        moreRules: assessment => rulesFromAllowedTools(allowedTools, { tool, input }, assessment),
        precedent: async () => recordedPrecedent(recorded),
      },
    )
    const change = findChange(recorded, decision)
    if (!change) continue
    counts.changed++
    if (changes.length < MOST_CHANGES) changes.push(change)
  }
  if (json) out(JSON.stringify({ since: from, ...counts, changes }, null, 2))
  else for (const line of replayLines({ counts, changes, since }, context.terminal)) out(line)
}

function wasAsked({ decided }: RecordedRequest): boolean {
  return !isAutomatic(decided.by) && decided.by !== 'nobody'
}

/** A precedent that counted then counts now too; only the rules are tried here. */
function recordedPrecedent({ decided }: RecordedRequest): Advice | undefined {
  const { by, verdict, confidence, reason } = decided
  return by === 'precedent' ? { approve: verdict === 'allow', confidence, reason } : undefined
}

/**
 * Only rules are tried here: what no rule decides, then or now, is left as it was, because a session knows more than is recorded (its
 * worktree, its sandbox, its own tools, what the brain thought). A person who was asked then would be asked again. With nobody there,
 * `ask` means a refusal, then as now.
 */
function findChange(
  recorded: RecordedRequest,
  now: { verdict: ReplayChange['now']; by: string; reason: string; rule?: string },
) {
  const personWasAsked = wasAsked(recorded)
  const { time, session, request, decided } = recorded
  if (decided.by !== 'rule' && now.by !== 'rule') return undefined
  const was = personWasAsked ? 'ask' : decided.verdict
  const becomes = now.verdict === 'ask' && !personWasAsked ? 'deny' : now.verdict
  if (was === becomes) return undefined
  const { call_id, tool, target } = request
  const why = now.rule ?? now.reason
  return { time, session, call_id, tool, target, was, now: now.verdict, by: now.by, why } satisfies ReplayChange
}

/** A recorded request that would be decided differently now. */
interface ReplayChange {
  time: number
  session: string
  call_id: string
  tool: string
  target: string
  /** `ask` when a person was asked, whatever the answer was. */
  was: 'allow' | 'ask' | 'deny'
  now: 'allow' | 'ask' | 'deny'
  by: string
  /** The rule, or the reason when no rule decides. */
  why: string
}

interface Replayed {
  counts: { requests: number; changed: number }
  changes: ReplayChange[]
  since: number
}

const TONES: Record<ReplayChange['now'], Tone> = { allow: 'green', ask: 'yellow', deny: 'red' }
const SHOWN = 100

/** The table of what would change, and the totals. */
function replayLines({ counts, changes, since }: Replayed, { paint }: Terminal): string[] {
  const { requests, changed } = counts
  const span = since % DAY_MS === 0 ? counted(since / DAY_MS, 'day') : duration(since)
  if (requests === 0) return [`No request was recorded in the last ${span}.`]
  if (changed === 0) return [`${requests} requests of the last ${span} decided again: nothing would change.`]
  const row = (change: ReplayChange) => {
    const { time, session, tool, target, was, now, why } = change
    const request = pad(cut(firstLine(`${tool} ${target}`), 48), 48)
    return `${dateTime(time).slice(0, 16)}  ${session}  ${request}  ${pad(was, 5)} → ${paint(TONES[now], pad(now, 5))}  ${firstLine(why)}`
  }
  const shown = changes.slice(0, SHOWN).map(row)
  const left = changed - shown.length
  return [
    paint('bold', `${pad('When', 16)}  ${pad('Session', 8)}  ${pad('Request', 48)}  ${pad('Was', 5)}   Now    Because`),
    ...shown,
    ...(left > 0 ? [`… and ${left} more; --json has up to 1000`] : []),
    '',
    `${requests} requests of the last ${span} decided again: ${changed} would be decided differently. Nothing was run.`,
  ]
}

/** The file of `--rules`. A file that is not valid rules is rejected, because the result would be about no rules at all. */
function trialFile(rules: string | undefined): string | undefined {
  if (rules === undefined) return undefined
  const file = resolve(rules)
  try {
    parseRules(file, readRules(file, { mustExist: true }))
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    throw new AppError('usage', { problem: `--rules: ${thrown.message}`, command: 'rules test' }, thrown)
  }
  return file
}
