import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { findProgram } from '../../../base/process/find-program.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import type { Proposed } from '../parts.ts'
import { ask } from '../refs.ts'
import { type Remote, remoteOf } from './remote.ts'

type Env = Record<string, string | undefined>

/**
 * Pushes a task's branch and opens a pull request with `gh`, as the person whose environment it is given. The repository's own
 * settings may have been written by an agent: they name the remote, and nothing that is started. Done again, it finds the pull
 * request that is there.
 */
export function openProposer(env: Env): (merge: Merge, place: Place, title: string) => Promise<Proposed> {
  return async (merge, place, title) => {
    const gh = findProgram('gh', env)
    if (gh === undefined) return missing('the program gh is not installed: see https://cli.github.com')
    const remote = await remoteOf(merge.repository, merge.target)
    if (!remote) return missing(`${merge.repository} has no remote: add one with git remote add origin ADDRESS`)
    const pushed = await push(merge, remote, env)
    if (pushed !== undefined) return missing(pushed)
    const call = (args: string[], input = '') => run(gh, args, { env: ofPerson(env), input })
    const where = ['--repo', remote.url]
    const there = await call([
      'pr',
      'list',
      ...where,
      '--head',
      merge.branch,
      '--state',
      'open',
      '--json',
      'url',
      '--jq',
      '.[0].url',
    ])
    if (there.ok && isAddress(there.stdout)) return { ok: true, url: there.stdout.trim() }
    const head = ['--head', merge.branch, '--base', merge.target]
    const made = await call(
      ['pr', 'create', ...where, ...head, '--title', title, '--body-file', '-'],
      await bodyOf(merge, place),
    )
    const url = made.stdout.split('\n').findLast(isAddress)
    if (made.ok && url !== undefined) return { ok: true, url: url.trim() }
    return missing(`gh pr create failed: ${(made.stderr || made.stdout).trim().slice(-500) || 'it said nothing'}`)
  }
}

async function push(merge: Merge, { name, url }: Remote, env: Env): Promise<string | undefined> {
  const what = `${merge.result ?? merge.head}:refs/heads/${merge.branch}`
  // By its address: what else the repository says of the remote does not count.
  const args = ['push', '--no-verify', '--porcelain', '--receive-pack=git-receive-pack', url, what]
  const { ok, stderr } = await git(merge.repository, args, { env: forPush(env), timeoutMs: 5 * 60_000 })
  return ok ? undefined : `${merge.branch} could not be pushed to ${name} (${url}): ${stderr.trim().slice(-500)}`
}

/** The person's way to a server, and over these protocols only. */
function forPush(env: Env): Record<string, string> {
  return {
    ...ofPerson(env),
    GIT_ALLOW_PROTOCOL: 'https:ssh:file',
    GIT_SSH_COMMAND: env['GIT_SSH_COMMAND'] ?? 'ssh -o BatchMode=yes',
    // After the one that empties the list: what the repository names as a helper is never asked.
    GIT_CONFIG_PARAMETERS: `'credential.helper=!gh auth git-credential'`,
  }
}

const OF_PERSON =
  /^(PATH|HOME|LANG|LC_.*|TMPDIR|USER|LOGNAME|XDG_.*|SSH_AUTH_SOCK|GH_.*|GITHUB_TOKEN|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)$/

function ofPerson(env: Env): Record<string, string> {
  const named = Object.entries(env).filter(([name, value]) => OF_PERSON.test(name) && value !== undefined)
  return { ...Object.fromEntries(named), GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1' }
}

async function bodyOf(merge: Merge, place: Place): Promise<string> {
  const range = `${merge.base ?? place.base}..${merge.head}`
  const subjects = await ask(place.top, ['log', '--reverse', '--format=* %s', '--max-count=100', range])
  return `${subjects ?? ''}\n\nTask ${merge.task_id}, attempt ${merge.attempt}, verified by PerpetualCC.\n`
}

function isAddress(text: string): boolean {
  return /^https?:\/\/\S+\s*$/.test(text)
}

function missing(why: string): Proposed {
  return { ok: false, why }
}

interface Ran {
  ok: boolean
  stdout: string
  stderr: string
}

/** Away from the repository: gh would ask its settings otherwise. */
function run(
  program: string,
  args: string[],
  { env, input }: { env: Record<string, string>; input: string },
): Promise<Ran> {
  return new Promise(resolve => {
    const options = { cwd: tmpdir(), env, timeout: 60_000, maxBuffer: 1_000_000 }
    const child = execFile(program, args, options, (error, stdout, stderr) => resolve({ ok: !error, stdout, stderr }))
    child.stdin?.on('error', () => undefined) // it did not want to read
    child.stdin?.end(input)
  })
}
