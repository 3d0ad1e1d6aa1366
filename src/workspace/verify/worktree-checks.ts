import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Finding } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { git } from '../git/git.ts'
import { findGitFolder, type GitFolder } from '../git/git-folder.ts'
import { mendDependencies } from '../worktrees/mend-dependencies.ts'
import { readNote, readSharedFiles } from '../worktrees/worktree-note.ts'
import { languageOf } from './diff/file-kind.ts'
import { type GateCheck, gateCheck, type VerifyRequest } from './request.ts'

/**
 * Before the gates run in an agent's worktree, what git ignores there and a command would believe is put right: dependencies that
 * were changed, and what checkers remember of earlier runs, by which they pass over what they would find.
 */
export async function cleanWorktree(
  { place: worktree, dependencies, signal }: VerifyRequest,
  { head, env, ignored }: { head: string | null; env: Record<string, string | undefined>; ignored: readonly string[] },
): Promise<GateCheck[]> {
  if (!worktree) return []
  await removeCaches(worktree, ignored)
  if (!dependencies) return []
  const { project, setup, setupMs } = dependencies
  const changesManifest = () => touchesManifest(worktree, head)
  const reports = await mendDependencies(worktree, { project, setup, setupMs, env, signal, changesManifest })
  if (reports.length === 0) return []
  const hasFailed = reports.some(({ kind }) => kind === 'failed')
  const findings = reports.map(({ kind, text }): Finding => {
    if (kind === 'failed') return { code: 'dependencies.lost', weight: 'block', text }
    return { code: kind === 'mended' ? 'dependencies.changed' : 'dependencies.unknown', weight: 'note', text }
  })
  return [gateCheck({ gate: 'dependencies', kind: 'diff', status: hasFailed ? 'broken' : 'passed', findings })]
}

/** What checkers and interpreters remember, each for itself: a fresh checkout has none of it. */
const CACHES = new Set([
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.eslintcache',
  '.stylelintcache',
  '.jest-cache',
  '.vitest',
  '.turbo',
  '.nx',
])

/** Tools put these between the packages. */
const CACHES_IN_PACKAGES = ['.cache', '.vite', '.vite-temp', '.vitest']

async function removeCaches({ top }: Worktree, listed: readonly string[]): Promise<void> {
  const ignored = listed.map(path => path.replace(/\/$/, ''))
  const memories = ignored.filter(path => CACHES.has(basename(path)) || path.endsWith('.tsbuildinfo'))
  const packages = ignored.filter(path => basename(path) === 'node_modules')
  const inPackages = packages.flatMap(path => CACHES_IN_PACKAGES.map(name => join(path, name)))
  await Promise.all([...memories, ...inPackages].map(path => rm(join(top, path), { recursive: true, force: true })))
}

const MANIFESTS =
  /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|pnpm-(lock|workspace)\.yaml|yarn\.lock|bun\.lockb?|composer\.(json|lock)|go\.(mod|sum|work)|Gemfile(\.lock)?|pyproject\.toml|setup\.(py|cfg)|requirements[^/]*\.(txt|in)|(poetry|uv|pdm|Pipfile)\.lock|Pipfile)$/

async function touchesManifest({ top, base }: Worktree, head: string | null): Promise<boolean> {
  if (head === null) return false
  const { stdout } = await git(top, ['diff', '--name-only', '-z', base, head, '--'])
  return stdout.split('\0').some(path => MANIFESTS.test(path))
}

/**
 * What was done to a repository beside the work in one of its worktrees, and would have git show something else than there is. An
 * agent cannot be told to mend it, and its person may have done it: they have to look.
 */
export async function checkSharedRepository(worktree: Worktree, folder: GitFolder): Promise<Finding[]> {
  const { shared, bases } = await readNote(worktree.top)
  const findings: Finding[] = []
  const now = shared ? await readSharedFiles(folder.common, folder.own) : {}
  for (const [name, before] of Object.entries(shared ?? {})) {
    // What that file hides is looked at file by file.
    if (name === 'info/exclude' || now[name] === before) continue
    findings.push(
      blockingFinding('git.shared', `${name} of ${folder.common} was changed since the work began. ${OR_ALLOW}`),
    )
  }
  const isKnown = bases.length === 0 || bases.includes(worktree.base) || (await isTakenBack(worktree, bases[0] ?? ''))
  if (!isKnown) findings.push(blockingFinding('git.target', targetMovedText(worktree, bases[0] ?? '')))
  return findings
}

const OR_ALLOW = 'Put it back, or, if it was you, let it pass by its name in gates.allow, then say to look again.'

/** Its person has taken the target back to an older commit. */
async function isTakenBack({ top, base }: Worktree, made: string): Promise<boolean> {
  return (await git(top, ['merge-base', '--is-ancestor', base, made])).ok
}

function targetMovedText({ target, base }: Worktree, made: string): string {
  const moved = `${target} holds ${base.slice(0, 10)}, which is a commit of this work, and pcc has not put it there.`
  return `${moved} If it was not you: git update-ref refs/heads/${target} ${made.slice(0, 10)}. ${OR_ALLOW}`
}

function blockingFinding(code: string, text: string): Finding {
  return { code, weight: 'block', text }
}

/** What lies in a checkout and is ignored; a folder of which all is, ends in a slash. */
export async function listIgnored(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  return (await git(top, args)).stdout.split('\0').filter(path => path !== '')
}

/** A report with more of them is read by nobody. */
const MAX_NAMED_SOURCES = 10

/**
 * Source files that lie beside the work and that git was told to ignore since it began: the gates see them, and no commit holds
 * them. What was ignored before, and whole folders of what programs make, are left alone.
 */
export async function findIgnoredSources(top: string, base: string, listed: readonly string[]): Promise<Finding[]> {
  const shared = await newlyExcluded(top)
  const isSource = (path: string) => !path.endsWith('/') && languageOf(path) !== undefined
  const sources = shared ? listed : listed.filter(isSource)
  if (sources.length === 0) return []
  const told = await git(top, ['check-ignore', '-v', '-z', '--stdin'], { input: sources.join('\0') })
  const fields = told.stdout.split('\0')
  const known = new Map<string, string[]>()
  const findings: Finding[] = []
  for (let at = 0; at + 3 < fields.length && findings.length < MAX_NAMED_SOURCES; at += 4) {
    const [list = '', , pattern = '', file = ''] = fields.slice(at, at + 4)
    if (!known.has(list)) known.set(list, await linesAt(top, base, list))
    const isHidden = EXCLUDE.test(list)
      ? shared?.has(pattern)
      : isOfTheWork(list) && isSource(file) && !known.get(list)?.includes(pattern)
    if (!isHidden) continue
    const text = `${file} is ignored (${list}: ${pattern}), so that no commit holds it: commit it, or take it away.`
    findings.push({ code: 'diff.ignored', weight: 'block', text, file })
  }
  return findings
}

/** The list that all checkouts share and no commit holds. */
const EXCLUDE = /(^|\/)info\/exclude$/

/** Patterns that were put into it since the work began: an agent's git can write there, and hide any file. */
async function newlyExcluded(top: string): Promise<Set<string> | undefined> {
  const { shared } = await readNote(top)
  const folder = shared && (await findGitFolder(top))
  if (!shared || !folder) return undefined
  const now = (await readSharedFiles(folder.common, folder.own))['info/exclude'] ?? ''
  const before = shared['info/exclude'] ?? ''
  return now === before ? undefined : new Set(now.split(/\r?\n/)).difference(new Set(before.split(/\r?\n/)))
}

/** A list of the repository's own, which lies in the tree. The person's lists are theirs. */
function isOfTheWork(list: string): boolean {
  return /(^|\/)\.gitignore$/.test(list) && !list.startsWith('/')
}

async function linesAt(top: string, base: string, list: string): Promise<string[]> {
  if (!isOfTheWork(list)) return []
  const { stdout } = await git(top, ['cat-file', 'blob', `${base}:${list}`])
  return stdout.split(/\r?\n/)
}
