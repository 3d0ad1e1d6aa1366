import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { mendDependencies } from '../../worktrees/dependencies/mend-dependencies.ts'
import { type Seen, seen } from '../gates/seen.ts'
import type { VerifyRequest } from '../request.ts'

/**
 * Before the gates run in an agent's worktree, what git ignores there and a command would believe is put right: dependencies that
 * were changed, and what checkers remember of earlier runs, by which they pass over what they would find.
 */
export async function cleanGround(
  { place, dependencies, signal }: VerifyRequest,
  { head, env, ignored }: { head: string | null; env: Record<string, string | undefined>; ignored: readonly string[] },
): Promise<Seen[]> {
  if (!place) return []
  await dropMemories(place, ignored)
  if (!dependencies) return []
  const { project, setup, setupMs } = dependencies
  const changesManifest = () => touchesManifest(place, head)
  const reports = await mendDependencies(place, { project, setup, setupMs, env, signal, changesManifest })
  if (reports.length === 0) return []
  const hasFailed = reports.some(({ kind }) => kind === 'failed')
  const findings = reports.map(({ kind, text }): Finding => {
    if (kind === 'failed') return { code: 'dependencies.lost', weight: 'block', text }
    return { code: kind === 'mended' ? 'dependencies.changed' : 'dependencies.unknown', weight: 'note', text }
  })
  return [seen({ gate: 'dependencies', kind: 'diff', status: hasFailed ? 'broken' : 'passed', findings })]
}

/** What checkers and interpreters remember, each for itself: a fresh checkout has none of it. */
const MEMORIES = new Set([
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
const IN_PACKAGES = ['.cache', '.vite', '.vite-temp', '.vitest']

async function dropMemories({ top }: Place, listed: readonly string[]): Promise<void> {
  const ignored = listed.map(path => path.replace(/\/$/, ''))
  const memories = ignored.filter(path => MEMORIES.has(basename(path)) || path.endsWith('.tsbuildinfo'))
  const packages = ignored.filter(path => basename(path) === 'node_modules')
  const inPackages = packages.flatMap(path => IN_PACKAGES.map(name => join(path, name)))
  await Promise.all([...memories, ...inPackages].map(path => rm(join(top, path), { recursive: true, force: true })))
}

const MANIFESTS =
  /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|pnpm-(lock|workspace)\.yaml|yarn\.lock|bun\.lockb?|composer\.(json|lock)|go\.(mod|sum|work)|Gemfile(\.lock)?|pyproject\.toml|setup\.(py|cfg)|requirements[^/]*\.(txt|in)|(poetry|uv|pdm|Pipfile)\.lock|Pipfile)$/

async function touchesManifest({ top, base }: Place, head: string | null): Promise<boolean> {
  if (head === null) return false
  const { stdout } = await git(top, ['diff', '--name-only', '-z', base, head, '--'])
  return stdout.split('\0').some(path => MANIFESTS.test(path))
}
