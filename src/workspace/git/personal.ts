import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Asks git for settings with the person's own among them; only ever for `git config`, which starts nothing. */
export async function personal(directory: string, args: readonly ['config', ...string[]]): Promise<{ stdout: string }> {
  const env = Object.fromEntries(NAMES.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))
  const options = { cwd: directory, env: { ...env, LC_ALL: 'C' }, timeout: 10_000, maxBuffer: 1_000_000 }
  return promisify(execFile)('git', ['--no-pager', ...args], options).catch(() => ({ stdout: '' }))
}

const NAMES = ['PATH', 'HOME', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM', 'GIT_CONFIG_SYSTEM']
