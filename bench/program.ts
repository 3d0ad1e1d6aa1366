import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundlePackage } from '../scripts/bundle.ts'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export interface Ran {
  stdout: string
  stderr: string
}

/** Runs a program to its end without input; any exit code but 0 fails the measurement. */
export function run(
  command: string,
  args: string[],
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Promise<Ran> {
  const { promise, resolve, reject } = Promise.withResolvers<Ran>()
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const ran: Ran = { stdout: '', stderr: '' }
  child.stdout.on('data', chunk => {
    ran.stdout += chunk
  })
  child.stderr.on('data', chunk => {
    ran.stderr += chunk
  })
  child.on('error', reject)
  child.on('close', code => {
    if (code === 0) resolve(ran)
    else reject(new Error(`${args.join(' ')} ended with ${code}:\n${ran.stdout}\n${ran.stderr}`))
  })
  return promise
}

export interface Installation extends AsyncDisposable {
  dir: string
  env: Record<string, string>
  /** The program's file as built for npm. */
  dist: string
  /** The program's file in this checkout. */
  source: string
  pcc(program: string, ...args: string[]): Promise<Ran>
}

/** An empty home with a build beside it, or with whatever `install` puts there. Closing it stops the daemon and removes everything. */
export async function openInstallation(
  extra: Record<string, string> = {},
  install = (dir: string) => build(join(dir, 'package')),
): Promise<Installation> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  const home = join(dir, 'home')
  mkdirSync(home)
  const env = {
    HOME: home,
    PATH: `${join(ROOT, 'node_modules/.bin')}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...extra,
  }
  const pcc = (program: string, ...args: string[]) => run(process.execPath, [program, ...args], { env, cwd: dir })
  const source = join(ROOT, 'bin/pcc.js')
  return {
    dir,
    env,
    dist: install(dir),
    source,
    pcc,
    async [Symbol.asyncDispose]() {
      await pcc(source, 'daemon', 'stop')
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    },
  }
}

/** What npm would install: bin and dist without src, because bin/pcc.js prefers src where there is one. */
function build(target: string): string {
  for (const path of ['bin', 'package.json']) cpSync(join(ROOT, path), join(target, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'))
  bundlePackage(join(ROOT, 'node_modules/.bin/esbuild'), { root: ROOT, outDir: join(target, 'dist') })
  return join(target, 'bin/pcc.js')
}
