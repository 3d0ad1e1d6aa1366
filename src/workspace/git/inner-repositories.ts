import { join } from 'node:path'
import { runShort } from '../../base/process/short/run-short.ts'
import { findGitFolder } from './git-folder.ts'

/** Deeper ones are left to git, which gets slow there itself. */
const DEEPEST = 5

/** Repositories that stand in the index of another one as submodules and are really there, and those in them. */
export async function innerRepositories(directory: string, env: Record<string, string>, depth = 0): Promise<string[]> {
  const limits = { timeoutMs: 20_000, maxBytes: 32_000_000 }
  const listed = await runShort({ command: 'git', args: ['ls-files', '-s', '-z'], cwd: directory, env, ...limits })
  const links = (listed.code === 0 ? listed.stdout : '').split('\0').filter(line => line.startsWith('160000 '))
  const found: string[] = []
  for (const line of links) {
    const path = join(directory, line.slice(line.indexOf('\t') + 1))
    if ((await findGitFolder(path))?.top !== path) continue
    found.push(path, ...(depth < DEEPEST ? await innerRepositories(path, env, depth + 1) : []))
  }
  return found
}
