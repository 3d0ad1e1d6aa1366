import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import type { TaskDiff, TaskWork } from '../../domain/workspace/landing/work-view.ts'
import { type Client, openClient } from '../client.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import { taskPath } from '../commands/task/call.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'
import { diffHeading, diffLines, statLines } from '../diff/diff-lines.ts'
import { pageOut } from '../diff/page-out.ts'
import { isInteractive } from '../live/interactive.ts'
import { askVerdict, type Said } from './ask-verdict.ts'
import { evidenceLines } from './evidence-lines.ts'
import { listReviews } from './waiting.ts'

interface ReviewOptions {
  approve?: true
  return?: true
  message?: string
  stat?: true
}

/** `pcc review`: a person looks at a task's work before it is merged, and lets it through or returns it. */
export function addReviewCommand(program: Command): void {
  program
    .command('review')
    .description('Look at a task’s work and what its checks saw, and let it through or return it with comments.')
    .argument('[task]', 'id, or a unique beginning of it; without one, what waits is listed')
    .option('--approve', 'it may be merged')
    .option('--return', 'back to its agent, with -m')
    .option('-m, --message <text>', 'what you say to it; the agent is told it with --return')
    .option('--stat', 'show only which files, and how many lines')
    .option('--json', 'print JSON')
    .action(async (ref: string | undefined, options: ReviewOptions, command: Command) => {
      const given = saidIn(options)
      if (given && ref === undefined) throw usage('say which task: pcc review <task> …')
      const context = await contextOf(command)
      if (ref === undefined) return listReviews(await openClient(context.places, context), context)
      refuseInSession(context.env, `review ${ref}`)
      const client = await openClient(context.places, context)
      const work = await client.request<TaskWork>('GET', `${taskPath(ref)}/work`)
      if (given) return answer(work, given, { client, context })
      const diff = await diffOf(ref, client)
      if (context.json) return context.out(JSON.stringify({ ...work, diff: diff ?? null }, null, 2))
      await show(work, { diff, stat: options.stat === true }, context)
      if (work.review === null || !isInteractive(context)) return context.note(nextWords(work))
      const said = await askVerdict(work, context)
      if (!said) throw new ExitCode(LATER)
      await answer(work, said, { client, context })
    })
}

/** Left without an answer. */
const LATER = 130

function saidIn({ approve, return: back, message }: ReviewOptions): Said | undefined {
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

async function answer(
  { task, title, state, review }: TaskWork,
  { verdict, reason }: Said,
  { client, context }: { client: Client; context: Context },
): Promise<void> {
  if (review === null) throw new AppError('review_none', { task, state })
  const body = { verdict, ...(reason !== undefined && { reason }) }
  const answered = await client.request<object>('POST', `/escalations/${review}/answer`, body)
  if (context.json) return context.out(JSON.stringify(answered, null, 2))
  const told = verdict === 'allow' ? 'goes into the queue of its target' : 'goes back to its agent with your comments'
  context.out(`${task} ${title}: ${told}.`)
}

/** What has no worktree has no diff, and is looked at all the same. */
async function diffOf(ref: string, client: Client): Promise<TaskDiff | undefined> {
  try {
    return await client.request<TaskDiff>('GET', `${taskPath(ref)}/diff`)
  } catch (error) {
    if (error instanceof AppError && error.code === 'diff_none') return undefined
    throw error
  }
}

async function show(
  work: TaskWork,
  { diff, stat }: { diff: TaskDiff | undefined; stat: boolean },
  context: Context,
): Promise<void> {
  const { terminal } = context
  const body = !diff ? [] : stat || diff.cut ? [] : ['', ...diffLines(diff, terminal)]
  const heading = diff ? diffHeading(diff, terminal) : terminal.paint('bold', `${work.task}  ${work.title}`)
  const evidence = evidenceLines(work.evidence, terminal)
  const checks = evidence.length > 0 ? evidence : ['Nothing was checked.']
  await pageOut([heading, '', ...checks, '', ...(diff ? statLines(diff, terminal) : []), ...body], context)
}

function nextWords({ task, review, state }: TaskWork): string {
  return review === null
    ? `It does not wait for a review (it is ${state}).`
    : `Let it through with: pcc review ${task} --approve; or return it: pcc review ${task} --return -m "…"`
}
