import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import type { ChangedFile, TaskDiff, TaskWork } from '../../domain/merge.ts'
import { hasChangedNothing } from '../../domain/worktree.ts'
import { type Client, openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode, fitted, isInteractive } from '../context.ts'
import { RemoteError } from '../errors.ts'
import { refuseInSession } from '../options.ts'
import { ago, counted, duration } from '../render/format.ts'
import { GATE_MARKS } from '../render/task-lines.ts'
import { breakLines, cut, firstLine, pad, type Terminal, type Tone } from '../render/text.ts'
import { runInTerminal } from '../run-in-terminal.ts'
import { taskPath } from './task/call.ts'

interface ReviewOptions {
  approve?: true
  return?: true
  message?: string
  stat?: true
}

/** `pcc review`: a person looks at a task's work before it is merged, and approves or returns it. */
export function addReviewCommand(program: Command): void {
  program
    .command('review')
    .description('Look at a task’s work and its checks, and approve it or return it with comments')
    .argument('[task]', 'id, or a unique beginning of it; without one, what waits is listed')
    .option('--approve', 'it may be merged')
    .option('--return', 'send it back to its agent, with -m')
    .option('-m, --message <text>', 'your comment; with --return it is sent to the agent')
    .option('--stat', 'show only which files were changed, and how many lines')
    .option('--json', 'print JSON')
    .action(async (ref: string | undefined, options: ReviewOptions, command: Command) => {
      const given = readVerdict(options)
      if (given && ref === undefined) throw usage('say which task: pcc review <task> …')
      const context = await commandContext(command)
      if (ref === undefined) return listReviews(await openClient(context.paths, context), context)
      refuseInSession(context.env, `review ${ref}`)
      const client = await openClient(context.paths, context)
      const work = await client.request<TaskWork>('GET', `${taskPath(ref)}/work`)
      if (given) return sendVerdict(work, given, { client, context })
      const diff = await fetchDiff(ref, client)
      if (context.json) return context.out(JSON.stringify({ ...work, diff: diff ?? null }, null, 2))
      await showWork(work, { diff, stat: options.stat === true }, context)
      if (work.review === null || !isInteractive(context)) return context.note(nextStep(work))
      const verdict = await askVerdict(work, context)
      if (!verdict) throw new ExitCode(LATER)
      await sendVerdict(work, verdict, { client, context })
    })
}

/** The exit code when the person leaves without an answer. */
const LATER = 130

function readVerdict({ approve, return: back, message }: ReviewOptions): ReviewVerdict | undefined {
  if (approve && back) throw usage('it is either --approve or --return')
  if (back && (message === undefined || message.trim() === ''))
    throw usage('say what is to be changed: --return -m "…"')
  if (approve) return { verdict: 'allow', reason: message }
  if (back) return { verdict: 'deny', reason: message }
  if (message !== undefined) throw usage('-m goes with --approve or --return')
  return undefined
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'review' })
}

async function sendVerdict(
  { task, title, state, review, merge, worktree }: TaskWork,
  { verdict, reason }: ReviewVerdict,
  { client, context }: { client: Client; context: CommandContext },
): Promise<void> {
  if (review === null) throw new AppError('review_none', { task, state })
  const body = { verdict, ...(reason !== undefined && { reason }) }
  const answered = await client.request<object>('POST', `/escalations/${review}/answer`, body)
  if (context.json) return context.out(JSON.stringify(answered, null, 2))
  const target = merge?.target ?? worktree?.target
  const approved = target
    ? `queued to merge into ${target}`
    : 'accepted; it is in the project already, nothing is merged'
  const effect = verdict === 'allow' ? approved : 'goes back to its agent with your comments'
  context.out(`${task} ${title}: ${effect}.`)
}

/** A task without a worktree has no diff; its work can be reviewed all the same. */
async function fetchDiff(ref: string, client: Client): Promise<TaskDiff | undefined> {
  try {
    return await client.request<TaskDiff>('GET', `${taskPath(ref)}/diff`)
  } catch (error) {
    if (error instanceof RemoteError && error.code === 'diff_none') return undefined
    throw error
  }
}

async function showWork(
  work: TaskWork,
  { diff, stat }: { diff: TaskDiff | undefined; stat: boolean },
  context: CommandContext,
): Promise<void> {
  const { terminal } = context
  const body = !diff ? [] : stat || diff.cut ? [] : ['', ...diffLines(diff, terminal)]
  const heading = diff ? diffHeading(diff, terminal) : terminal.paint('bold', `${work.task}  ${work.title}`)
  const evidence = evidenceLines(work.evidence, terminal)
  const checks = evidence.length > 0 ? evidence : ['Nothing was checked.']
  const fit = (line: string) => breakLines(line, terminal.width).split('\n')
  const head = [heading, '', ...checks, ''].flatMap(fit)
  await pageOut([...head, ...(diff ? statLines(diff, terminal) : []), ...body], context)
}

function nextStep({ task, review, state }: TaskWork): string {
  return review === null
    ? `It does not wait for a review (it is ${state}).`
    : `Approve it with: pcc review ${task} --approve; or return it: pcc review ${task} --return -m "…"`
}

/** A person's verdict on work that waits for review. */
interface ReviewVerdict {
  verdict: 'allow' | 'deny'
  reason?: string | undefined
}

/** Asks until the answer is clear: approve, return with comments, or later (`undefined`). */
async function askVerdict(
  { task }: TaskWork,
  { note }: Pick<CommandContext, 'note'>,
): Promise<ReviewVerdict | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const inputClosed = new Promise<undefined>(resolve => lines.once('close', () => resolve(undefined)))
  const ask = (question: string) =>
    Promise.race([lines.question(`${fitted(question.trimEnd(), process.stderr)} `), inputClosed])
  try {
    for (;;) {
      const choice = (await ask(`${task}: [a]pprove, [r]eturn with comments, [l]ater, then Enter? `))
        ?.trim()
        .toLowerCase()
      if (choice === undefined || choice === 'l' || choice === 'later') return undefined
      if (choice === 'a' || choice === 'approve') return { verdict: 'allow' }
      if (choice !== 'r' && choice !== 'return') {
        note('Type a, r or l, then Enter.')
        continue
      }
      const reason = (await ask('What is to be changed? '))?.trim()
      if (reason === undefined) return undefined
      if (reason !== '') return { verdict: 'deny', reason }
      note('The agent needs to know what to change; nothing was sent.')
    }
  } finally {
    lines.close()
  }
}

/** `pcc review` without a task: lists the work that waits for a review, oldest first. */
async function listReviews(client: Client, { json, out, terminal }: CommandContext): Promise<void> {
  const { escalations } = await client.request<{ escalations: EscalationView[] }>('GET', '/escalations')
  const reviews = escalations.filter(({ kind, state }) => kind === 'review' && state === 'open')
  if (json) return out(JSON.stringify({ reviews }, null, 2))
  if (reviews.length === 0) {
    return out('Nothing waits for your review. What waits for another decision: pcc pending')
  }
  // The target of a review is the id and title of the task.
  for (const { target, created_at } of reviews) {
    out(cut(`${firstLine(target)}  (${ago(Date.now() - created_at)})`, terminal.width))
  }
  out('')
  out(`Look at one with: pcc review ${reviews[0]?.target.split(' ')[0] ?? '<task>'}`)
}

function mergeText(merge: NonNullable<TaskWork['merge']>, worktree: TaskWork['worktree']): string {
  const isOfIt = worktree?.attempt === merge.attempt && merge.state === 'merged'
  if (isOfIt && hasChangedNothing(worktree, merge)) return 'there was nothing to merge'
  return `${merge.state}${merge.reason ? `, ${firstLine(merge.reason)}` : ''} (into ${merge.target})`
}

/** The state of a task's work: its worktree, its merge, its review and the results of its gates. */
export function workLines({ task, evidence, merge, worktree, review }: TaskWork, terminal: Terminal): string[] {
  return [
    ...(worktree?.state === 'live' ? [`Worktree: ${neutral(worktree.directory)} (${worktree.branch})`] : []),
    ...(merge ? [`Merge: ${mergeText(merge, worktree)}`] : []),
    ...(review === null ? [] : [`Waits for you: pcc review ${task}`]),
    ...evidenceLines(evidence, terminal),
  ]
}

type Check = TaskWork['evidence'][number]

/** The results of the gates in the newest verification, with the findings of each gate below it. */
function evidenceLines(evidence: readonly Check[], { paint }: Pick<Terminal, 'paint'>): string[] {
  const [first] = evidence
  if (!first) return []
  const tree = first.tree === null ? '' : `, tree ${first.tree.slice(0, 10)}`
  return [
    `Evidence (attempt ${first.attempt}, verification ${first.round}${tree}):`,
    ...evidence.flatMap(check => {
      const { glyph, tone } = GATE_MARKS[check.status]
      const findings = check.findings.map(({ text, file, line }) => {
        const at = file === undefined ? '' : `${neutral(file)}${line === undefined ? '' : `:${line}`}: `
        return `      ${at}${firstLine(text)}`
      })
      return [`  ${paint(tone, glyph)} ${check.gate}${describeCheck(check)}`, ...findings]
    }),
  ]
}

function describeCheck({ command, exit, duration_ms, cached, status, tests, output }: Check): string {
  const parts = [
    ...(status === 'skipped' && output !== '' ? [`skipped. ${firstLine(output)}`] : []),
    ...(command === null ? [] : [neutral(command)]),
    ...(exit === null || exit === 0 ? [] : [`exit ${exit}`]),
    ...(tests === null ? [] : [counted(tests.length, 'test')]),
    ...(status === 'flaky' ? ['passed when tried again'] : []),
    ...(cached ? ['cached'] : duration_ms >= 1_000 ? [duration(duration_ms)] : []),
  ]
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}

/** A diff as coloured lines that are safe to print: its content cannot move the cursor or disguise itself. */
export function diffLines({ diff = '' }: Pick<TaskDiff, 'diff'>, { paint }: Pick<Terminal, 'paint'>): string[] {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => {
    const shown = neutral(line)
    const tone = chooseTone(line)
    return tone === undefined ? shown : paint(tone, shown)
  })
}

/** The changed files with the number of lines added and removed. */
export function statLines(
  { files, cut }: Pick<TaskDiff, 'files' | 'cut'>,
  { paint }: Pick<Terminal, 'paint'>,
): string[] {
  const names = files.map(({ path }) => neutral(path))
  const width = Math.min(60, Math.max(0, ...names.map(name => name.length)))
  const lines = files.map((file, index) => {
    const numbers =
      file.added === null ? 'binary' : `${paint('green', `+${file.added}`)} ${paint('red', `-${file.removed}`)}`
    return ` ${pad(names[index] ?? '', width)}  ${numbers}`
  })
  const total = `${counted(files.length, 'file')}, ${counted(sum(files, 'added'), 'line')} added, ${sum(files, 'removed')} removed`
  return [...lines, ` ${files.length === 0 ? 'nothing was changed' : total}`, ...(cut ? [paint('yellow', CUT)] : [])]
}

const CUT = ' It is too long to be shown in full.'

/** The task of a diff and where the diff comes from. */
export function diffHeading(
  { task, title, attempt, source, branch, target }: TaskDiff,
  { paint }: Pick<Terminal, 'paint'>,
): string {
  const where = { worktree: `${branch}, not merged`, merged: `merged into ${target}`, archived: 'archived' }[source]
  return `${paint('bold', `${task}  ${neutral(title)}`)} (attempt ${attempt}, ${where})`
}

function sum(files: readonly ChangedFile[], field: 'added' | 'removed'): number {
  return files.reduce((total, file) => total + (file[field] ?? 0), 0)
}

function chooseTone(line: string): Tone | undefined {
  if (/^(diff --git|index |--- |\+\+\+ |new file|deleted file|rename |similarity )/.test(line)) return 'bold'
  if (line.startsWith('@@')) return 'cyan'
  if (line.startsWith('+')) return 'green'
  return line.startsWith('-') ? 'red' : undefined
}

/** Prints lines: through the person's pager on a terminal that is too small for them, otherwise directly. */
export async function pageOut(lines: readonly string[], { env }: Pick<CommandContext, 'env'>): Promise<void> {
  const rows = process.stdout.rows ?? 24
  const fits = !process.stdout.isTTY || lines.length < rows
  // Lines of code are not broken between words.
  if (fits || !(await showInPager(lines, env))) process.stdout.write(`${lines.join('\n')}\n`)
}

/** Returns false when there is no pager; nothing was shown then. */
async function showInPager(lines: readonly string[], env: CommandContext['env']): Promise<boolean> {
  const pager = env['PCC_PAGER'] ?? env['PAGER'] ?? 'less'
  if (pager === '' || pager === 'cat') return false
  // The options that git uses: show colours, leave a short text on the screen, restore the terminal.
  const shown = { env: { LESS: 'FRX', ...env }, input: `${lines.join('\n')}\n` }
  const { code, error } = await runInTerminal({ command: '/bin/sh', args: ['-c', pager], ...shown })
  return code !== NOT_FOUND && !error
}

/** The exit code of a shell that does not find the program. */
const NOT_FOUND = 127
