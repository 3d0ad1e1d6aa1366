import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** More than a gigabyte of other vendors' programs takes time on a slow connection. */
const INSTALL_MS = 20 * 60_000
/** Variables in which the npm that started us stores its folder; the npm below works in another one. */
const OTHER_FOLDER = /^npm_config_(prefix|local_prefix|global|dry_run|json)$/i

/** The pinned programs that are missing or have another version. */
export function missingPrograms(folder: string): string[] {
  const { dependencies } = readJson(join(folder, 'package.json')) as { dependencies: Record<string, string> }
  return Object.entries(dependencies).flatMap(([name, version]) => {
    const there = versionOf(join(folder, 'node_modules', name))
    return there === version ? [] : [`${name}@${version}`]
  })
}

/** Installs the pinned set exactly as in its lock file. Returns false if that failed; npm has printed why. */
export async function installPrograms(folder: string, signal: AbortSignal): Promise<boolean> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OTHER_FOLDER.test(name)))
  const child = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]),
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code === 0
  } catch (error) {
    process.stderr.write(`${String(error)}\n`)
    return false
  }
}

function versionOf(folder: string): string | undefined {
  try {
    return (readJson(join(folder, 'package.json')) as { version?: string }).version
  } catch {
    return undefined // not installed
  }
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
