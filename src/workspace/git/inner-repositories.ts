import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findGitFolder } from './git-folder.ts'

/** Deeper ones are left to git, which gets slow there itself. */
const DEEPEST = 5

/** Repositories that stand in the index of another one as submodules and are really there, and those in them. */
export async function innerRepositories(directory: string, env: Record<string, string>, depth = 0): Promise<string[]> {
  const options = { cwd: directory, env, timeout: 20_000, maxBuffer: 32_000_000 }
  const listed = await promisify(execFile)('git', ['ls-files', '-s', '-z'], options).catch(() => ({ stdout: '' }))
  const links = listed.stdout.split('\0').filter(line => line.startsWith('160000 '))
  const found: string[] = []
  for (const line of links) {
    const path = join(directory, line.slice(line.indexOf('\t') + 1))
    if ((await findGitFolder(path))?.top !== path) continue
    found.push(path, ...(depth < DEEPEST ? await innerRepositories(path, env, depth + 1) : []))
  }
  return found
}
