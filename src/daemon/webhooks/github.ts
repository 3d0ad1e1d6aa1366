import { homedir } from 'node:os'
import * as z from 'zod'
import { DAY_MS } from '../../base/clock.ts'
import { absolutePath } from '../../domain/config/parse-setting.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { WebhookAction } from '../../domain/webhook.ts'
import { taskOfBranch } from '../../domain/worktree.ts'
import { externalLine, externalText } from './external-text.ts'

type GitHubSettings = Config['webhooks']['github']

const User = z.object({ login: z.string(), type: z.string().optional() })
type User = z.infer<typeof User>
const Any = z.object({
  action: z.string().optional(),
  repository: z.object({ full_name: z.string() }).optional(),
  sender: User.optional(),
})
const Issue = z.object({
  number: z.number(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string(),
  user: User.nullish(),
  author_association: z.string().optional(),
  updated_at: z.string(),
  pull_request: z.object({}).optional(),
})
const Labeled = z.object({ issue: Issue, label: z.object({ name: z.string() }), sender: User })
const Commented = z.object({
  issue: Issue,
  comment: z.object({
    id: z.number(),
    body: z.string(),
    user: User.nullish(),
    author_association: z.string(),
    html_url: z.string(),
    created_at: z.string(),
  }),
})
const Side = z.object({ ref: z.string(), sha: z.string(), repo: z.object({ full_name: z.string() }).nullish() })
const PullRequest = z.object({ number: z.number(), html_url: z.string(), head: Side })
const Reviewed = z.object({
  pull_request: PullRequest,
  review: z.object({
    body: z.string().nullish(),
    state: z.string(),
    commit_id: z.string(),
    user: User.nullish(),
    author_association: z.string(),
    submitted_at: z.string(),
  }),
})
const Closed = z.object({
  pull_request: PullRequest.extend({
    merged: z.boolean(),
    merge_commit_sha: z.string().nullish(),
    closed_at: z.string().nullish(),
  }),
})
const Check = z.object({
  name: z.string().nullish(),
  head_sha: z.string(),
  head_branch: z.string().nullish(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
  url: z.string().nullish(),
  completed_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  check_suite: z.object({ head_branch: z.string().nullish() }).nullish(),
  head_repository: z.object({ full_name: z.string() }).nullish(),
  output: z
    .object({ title: z.string().nullish(), summary: z.string().nullish(), text: z.string().nullish() })
    .nullish(),
  app: z.object({ name: z.string() }).nullish(),
})

/** GitHub sends a message again for three days, when its button is pressed. */
const WINDOW_MS = 3 * DAY_MS

export interface GitHubMessage {
  event: string
  payload: unknown
}

/** Decides what a signed message of GitHub asks for. Pure. Throws a `ZodError` for a shape that GitHub does not send. */
export function readGitHub({ event, payload }: GitHubMessage, settings: GitHubSettings, now: number): WebhookAction {
  const { action = '', repository, sender } = Any.parse(payload)
  if (event === 'ping') return { do: 'nothing', why: 'GitHub tries out the webhook' }
  if (!repository) return { do: 'nothing', why: `${event} is about no repository` }
  const project = projectOf(repository.full_name, settings)
  if (project === undefined) {
    const name = externalLine(repository.full_name, 120)
    return { do: 'refuse', why: `no project is set for ${name}; add "${name}=/path" to webhooks.github.repositories` }
  }
  const context = { project, repository: repository.full_name, settings, now }
  switch (`${event}.${action}`) {
    case 'issues.labeled':
      return onLabel(Labeled.parse(payload), context)
    case 'issue_comment.created':
      return onComment(Commented.parse(payload), context)
    case 'pull_request_review.submitted':
      return onReview(Reviewed.parse(payload), context)
    case 'pull_request.closed':
      return onClosed(Closed.parse(payload), context)
    case 'check_run.completed':
    case 'check_suite.completed':
    case 'workflow_run.completed':
      return onCheck(Check.parse((payload as Record<string, unknown>)[event]), context)
    default:
      return { do: 'nothing', why: `pcc does nothing about ${event}.${action} by ${sender?.login ?? 'nobody'}` }
  }
}

interface Context {
  project: string
  repository: string
  settings: GitHubSettings
  now: number
}

function projectOf(repository: string, { repositories }: GitHubSettings): string | undefined {
  const wanted = `${repository.toLowerCase()}=`
  const found = repositories.find(pair => pair.toLowerCase().startsWith(wanted))
  return found && absolutePath(found.slice(wanted.length), '/', homedir())
}

/**
 * GitHub lets only people with the right to triage put a label on. But a template may put it on for whoever opens the issue, and then
 * that person must be one who may give orders.
 */
function onLabel({ issue, label, sender }: z.infer<typeof Labeled>, context: Context): WebhookAction {
  const { settings } = context
  if (label.name.toLowerCase() !== settings.label.toLowerCase())
    return { do: 'nothing', why: `the label ${externalLine(label.name, 60)} is not ${settings.label}` }
  const isOwnIssue = sender.login === issue.user?.login
  const association = isOwnIssue ? (issue.author_association ?? 'NONE') : 'COLLABORATOR'
  return (
    refuseStranger(sender, association, settings) ??
    refuseLate(issue.updated_at, context.now) ?? { ...taskOf(issue, sender, context), alias: aliasOf(issue, context) }
  )
}

/** The first line of an order; what follows belongs to it. */
const ORDER = /^\/pcc(?:[ \t]+(.*))?$/m

function onComment({ issue, comment }: z.infer<typeof Commented>, context: Context): WebhookAction {
  const order = ORDER.exec(comment.body)
  if (order?.index !== 0) return { do: 'nothing', why: 'the comment does not begin with /pcc' }
  const by = comment.user ?? { login: 'ghost' }
  const refused =
    refuseStranger(by, comment.author_association, context.settings) ?? refuseLate(comment.created_at, context.now)
  if (refused) return refused
  if (issue.pull_request)
    return { do: 'refuse', why: 'on a pull request pcc hears reviews that ask for changes, not comments' }
  const alias = aliasOf(issue, context)
  const said = comment.body.slice('/pcc'.length).trim()
  return { ...taskOf(issue, by, context, said), alias, again: `${alias}/${comment.id}` }
}

function onReview({ pull_request: pull, review }: z.infer<typeof Reviewed>, context: Context): WebhookAction {
  const ours = refuseForeignBranch(pull.head, context)
  if (ours) return ours
  if (review.state !== 'changes_requested')
    return { do: 'nothing', why: `the review says ${externalLine(review.state, 40)}, and asks for no changes` }
  const by = review.user ?? { login: 'ghost' }
  const refused =
    refuseStranger(by, review.author_association, context.settings) ?? refuseLate(review.submitted_at, context.now)
  if (refused) return refused
  const who = externalLine(by.login, 60)
  return {
    do: 'return',
    ...{ project: context.project, branch: pull.head.ref, commit: review.commit_id },
    reason: `${who} asks for changes in pull request #${pull.number}`,
    report: [
      `${who} has reviewed the pull request of your work (${externalLine(pull.html_url)}) and asks for changes.`,
      externalText(review.body ?? '', { from: `the review by ${by.login}` }),
      'Change what they ask for, keep the rest, and end with a short report. Everything is checked again, and the pull request is updated.',
    ].join('\n\n'),
  }
}

/** Conclusions after which the work has to be changed. What was cancelled or skipped says nothing about it. */
const FAILED: ReadonlySet<string> = new Set(['failure', 'timed_out', 'startup_failure'])

/** A check says which commit it is about. That it is one of ours is looked up later, so a branch of the same name in a fork is nothing. */
function onCheck(check: z.infer<typeof Check>, context: Context): WebhookAction {
  const branch = check.head_branch ?? check.check_suite?.head_branch ?? ''
  const from = check.head_repository?.full_name ?? context.repository
  const isFork = from.toLowerCase() !== context.repository.toLowerCase()
  if (isFork || taskOfBranch(branch) === undefined) return foreignBranch(branch)
  const { conclusion, output } = check
  if (!FAILED.has(conclusion ?? ''))
    return { do: 'nothing', why: `the check ended with ${externalLine(conclusion ?? 'nothing', 40)}` }
  const late = refuseLate(check.completed_at ?? check.updated_at ?? undefined, context.now)
  if (late) return late
  const name = externalLine(check.name ?? check.app?.name ?? 'a check', 100)
  const where = check.html_url ?? check.url
  return {
    do: 'return',
    ...{ project: context.project, branch, commit: check.head_sha },
    reason: `the check ${name} failed (${conclusion})`,
    report: [
      `A check of your work failed after it was pushed: ${name} (${conclusion})${where ? `, ${externalLine(where)}` : ''}.`,
      externalText([output?.title, output?.summary, output?.text].filter(Boolean).join('\n\n'), { from: name }),
      'Find the cause, mend the work itself, and end with a short report. Everything is checked again, and the branch is pushed anew.',
    ].join('\n\n'),
  }
}

function onClosed({ pull_request: pull }: z.infer<typeof Closed>, context: Context): WebhookAction {
  const ours = refuseForeignBranch(pull.head, context)
  if (ours) return ours
  if (!pull.merged) return { do: 'nothing', why: `pull request #${pull.number} was closed, not merged` }
  const late = refuseLate(pull.closed_at ?? undefined, context.now)
  const commit = pull.merge_commit_sha ?? pull.head.sha
  return late ?? { do: 'landed', project: context.project, branch: pull.head.ref, commit: externalLine(commit, 64) }
}

const ASSOCIATIONS: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])

/** Who may give orders: those on the list, or without one the people of the repository. A program only if it is on the list. */
function refuseStranger(user: User, association: string, { logins }: GitHubSettings): WebhookAction | undefined {
  const isListed = logins.some(login => login.toLowerCase() === user.login.toLowerCase())
  const isTrusted = logins.length === 0 && user.type !== 'Bot' && ASSOCIATIONS.has(association)
  if (isListed || isTrusted) return undefined
  const what = `${externalLine(user.login, 60)} (${externalLine(association.toLowerCase(), 40)})`
  return { do: 'refuse', why: `${what} may not give orders; see webhooks.github.logins` }
}

/** The time is part of what is signed, so that an old message cannot be sent as a new one when its id is forgotten. */
function refuseLate(time: string | undefined, now: number): WebhookAction | undefined {
  const age = now - Date.parse(time ?? '')
  if (age <= WINDOW_MS) return undefined
  return { do: 'refuse', why: `it is about ${externalLine(time ?? 'no time', 40)}, more than three days ago` }
}

/** A branch of the same name in a fork is not ours. */
function refuseForeignBranch({ ref, repo }: z.infer<typeof Side>, { repository }: Context): WebhookAction | undefined {
  const isOurs = taskOfBranch(ref) !== undefined && repo?.full_name.toLowerCase() === repository.toLowerCase()
  return isOurs ? undefined : foreignBranch(ref)
}

function foreignBranch(branch: string): WebhookAction {
  return { do: 'nothing', why: `${externalLine(branch, 100) || 'it'} is no branch of pcc in this repository` }
}

function aliasOf({ number }: z.infer<typeof Issue>, { repository }: Context): string {
  return `${repository}#${number}`
}

function taskOf(issue: z.infer<typeof Issue>, by: User, context: Context, said = '') {
  const from = `${context.repository}#${issue.number} by ${issue.user?.login ?? 'ghost'}`
  const text = [
    `Do what this issue asks for: ${externalLine(issue.html_url)} (asked for by ${externalLine(by.login, 60)}).`,
    ...(said === '' ? [] : [externalText(said, { from: `the comment of ${by.login}` })]),
    externalText(`${issue.title}\n\n${issue.body ?? ''}`, { from }),
  ].join('\n\n')
  const title = externalLine(issue.title) || `${context.repository}#${issue.number}`
  return { do: 'task' as const, project: context.project, title, text, labels: ['github'] }
}
