import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runShort } from '../../base/process/short/run-short.ts'

/** Asks git for settings with the person's own among them; only ever for `git config`, which starts nothing. */
export async function personal(directory: string, args: readonly ['config', ...string[]]): Promise<{ stdout: string }> {
  const env: Record<string, string> = Object.fromEntries(
    NAMES.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])),
  )
  const limits = { timeoutMs: 10_000, maxBytes: 1_000_000 }
  const run = { command: 'git', args: ['--no-pager', ...args], cwd: directory, env: { ...env, LC_ALL: 'C' } }
  const { code, stdout } = await runShort({ ...run, ...limits })
  return { stdout: code === 0 ? stdout : '' }
}

const NAMES = ['PATH', 'HOME', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM', 'GIT_CONFIG_SYSTEM']

/**
 * The person's own list of files that git is to ignore everywhere (`.DS_Store`, `.idea`), and not one that a repository names:
 * an agent could hide its work behind that. Their settings are only asked for it where they may say something.
 */
export async function personalIgnores(): Promise<string> {
  const own = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  const files = [process.env['GIT_CONFIG_GLOBAL'] || join(homedir(), '.gitconfig'), join(own, 'git', 'config')]
  const texts = await Promise.all(files.map(file => readFile(file, 'latin1').catch(() => '')))
  const usual = join(own, 'git', 'ignore')
  if (!texts.some(text => /excludesfile|\[\s*include/i.test(text))) return usual
  const { stdout } = await personal('/', ['config', '--type=path', '--get', 'core.excludesFile'])
  return stdout.trimEnd() || usual
}
