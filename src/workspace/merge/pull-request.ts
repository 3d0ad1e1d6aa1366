import { tmpdir } from 'node:os'
import { findProgram } from '../../base/process/find-program.ts'
import { problemOf, runShort } from '../../base/process/run-short.ts'
import { pathOutsideProjects } from '../../base/search-path.ts'
import type { Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { git } from '../git/git.ts'
import { mainCheckouts } from '../git/git-folder.ts'
import { askGitLine, gitOnObjects } from '../git/refs.ts'

type PersonEnv = Record<string, string | undefined>

/** `url` is that of the pull request; `why` says what is missing. */
export type PullRequestResult = { ok: true; url: string } | { ok: false; why: string }

export interface PullRequestWork {
  merge: Merge
  /** The commit that was pushed before: only that one may be replaced. */
  pushed?: string | undefined
  worktree: Worktree
  title: string
}

/**
 * Pushes a task's branch and opens a pull request with `gh`, as the person whose environment is passed. An agent may have written
 * the repository's own settings: they name the remote, and nothing else in them counts. A second call finds the pull request
 * that is already open.
 */
export async function openPullRequest(
  { merge, worktree, title, pushed: before }: PullRequestWork,
  wholeEnv: PersonEnv,
): Promise<PullRequestResult> {
  const PATH = pathOutsideProjects(wholeEnv['PATH'], [worktree.top, ...mainCheckouts({ common: merge.repository })])
  const env = { ...wholeEnv, PATH }
  const gh = findProgram('gh', env)
  if (gh === undefined) return noPullRequest('the program gh is not installed: see https://cli.github.com')
  const remote = await findRemote(merge.repository, merge.target)
  if (!remote) return noPullRequest(`${merge.repository} has no remote: add one with git remote add origin ADDRESS`)
  const pushed = await pushBranch(merge, { ...remote, before }, env)
  if (pushed !== undefined) return noPullRequest(pushed)
  // Outside the repository: otherwise gh would read the repository's settings.
  const outside = { cwd: tmpdir(), env: personEnv(env), timeoutMs: 60_000, maxBytes: 1_000_000 }
  const call = (args: string[], input = '') => runShort({ command: gh, args, input, ...outside })
  const where = ['--repo', remote.url]
  const wanted = ['--head', merge.branch, '--state', 'open', '--json', 'url', '--jq', '.[0].url']
  const existing = await call(['pr', 'list', ...where, ...wanted])
  if (existing.code === 0 && isAddress(existing.stdout)) return { ok: true, url: existing.stdout.trim() }
  const head = ['--head', merge.branch, '--base', merge.target]
  const made = await call(
    ['pr', 'create', ...where, ...head, '--title', title, '--body-file', '-'],
    await describeWork(merge, worktree),
  )
  const url = made.stdout.split('\n').findLast(isAddress)
  if (made.code === 0 && url !== undefined) return { ok: true, url: url.trim() }
  const words = (made.stderr || made.stdout).trim().slice(-500)
  return noPullRequest(`gh pr create failed: ${words || problemOf(made) || 'it said nothing'}`)
}

async function pushBranch(
  merge: Merge,
  { name, url, before }: PushRemote & { before: string | undefined },
  env: PersonEnv,
): Promise<string | undefined> {
  const what = `${merge.result ?? merge.head}:refs/heads/${merge.branch}`
  // Work that went back after a review may stand on a newer target now. What others have pushed meanwhile is never replaced.
  const lease = before === undefined ? [] : [`--force-with-lease=refs/heads/${merge.branch}:${before}`]
  const args = ['push', '--no-verify', '--porcelain', ...lease, '--receive-pack=git-receive-pack', '--', url, what]
  const { ok, stderr } = await gitOnObjects(merge.repository, args, { env: pushEnv(env), timeoutMs: 5 * 60_000 })
  return ok ? undefined : `${merge.branch} could not be pushed to ${name} (${url}): ${stderr.trim().slice(-500)}`
}

/** The person's access to the server. A folder of this machine is no server: git would run the hooks that are in it. */
function pushEnv(env: PersonEnv): Record<string, string> {
  return {
    ...personEnv(env),
    GIT_ALLOW_PROTOCOL: 'https:ssh',
    GIT_SSH_COMMAND: env['GIT_SSH_COMMAND'] ?? 'ssh -o BatchMode=yes',
    // This comes after the setting that empties the list of helpers: a helper that the repository names is never asked.
    GIT_CONFIG_PARAMETERS: `'credential.helper=!gh auth git-credential'`,
  }
}

const PERSON_VARIABLES =
  /^(PATH|HOME|LANG|LC_.*|TMPDIR|USER|LOGNAME|XDG_.*|SSH_AUTH_SOCK|GH_.*|GITHUB_TOKEN|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)$/

function personEnv(env: PersonEnv): Record<string, string> {
  const named = Object.entries(env).filter(([name, value]) => PERSON_VARIABLES.test(name) && value !== undefined)
  return { ...Object.fromEntries(named), GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1' }
}

async function describeWork(merge: Merge, worktree: Worktree): Promise<string> {
  const range = `${merge.base ?? worktree.base}..${merge.head}`
  const subjects = await askGitLine(worktree.top, ['log', '--reverse', '--format=* %s', '--max-count=100', range])
  return `${subjects ?? ''}\n\nTask ${merge.task_id}, attempt ${merge.attempt}, verified by PerpetualCC.\n`
}

function isAddress(text: string): boolean {
  return /^https?:\/\/\S+\s*$/.test(text)
}

function noPullRequest(why: string): PullRequestResult {
  return { ok: false, why }
}

/** The remote that a branch is pushed to. */
interface PushRemote {
  name: string
  url: string
}

/** The remote of a branch: the one that it tracks, else `origin`, else the only one there is. */
async function findRemote(repository: string, branch: string): Promise<PushRemote | undefined> {
  const { stdout } = await git(repository, ['remote'])
  const names = stdout.split('\n').filter(name => name !== '')
  const tracked = await askGitLine(repository, ['config', '--get', `branch.${branch}.remote`])
  const name = [tracked, 'origin', names.length === 1 ? names[0] : undefined].find(
    candidate => candidate !== undefined && names.includes(candidate),
  )
  const url = name && (await askGitLine(repository, ['remote', 'get-url', '--push', name]))
  return name && url ? { name, url } : undefined
}
