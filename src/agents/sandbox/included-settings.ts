import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/**
 * Files that a repository's own settings are read from beside its `config`: one of the project may be among them, and what stands in it is
 * started by git like all else. Reading settings starts nothing.
 */
export function includedSettings(top: string): string[] {
  try {
    const told = execFileSync('git', ['config', '--local', '--includes', '--list', '--show-origin', '--null'], {
      ...{ cwd: top, encoding: 'utf8', timeout: 10_000, stdio: ['ignore', 'pipe', 'ignore'] },
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    })
    // An origin, then what was set there.
    const origins = told.split('\0').filter((_, at) => at % 2 === 0)
    return [...new Set(origins.filter(one => one.startsWith('file:')).map(one => resolve(top, one.slice(5))))]
  } catch {
    return [] // settings that git cannot read are of no use to an agent either
  }
}
