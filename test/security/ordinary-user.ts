import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnv } from '../support/world.ts'

const NOBODY = 65_534
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Runs a test file once more, as an ordinary user; undefined if this is one already. */
export async function testAsOrdinaryUser(
  t: TestContext,
  file: string,
): Promise<{ code: number | null; output: string } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const home = openFolder(t)
  const run: Run = (command, args, cwd) =>
    spawn('setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', command, ...args], {
      cwd,
      env: { ...bareEnv(home), TMPDIR: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  await once(spawn('chown', ['-R', `${NOBODY}:${NOBODY}`, home], { stdio: 'ignore' }), 'exit')
  const root = await readableRoot(t, run)
  const child = run(process.execPath.replace(ROOT, `${root}/`), ['--test', file], root)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, output: `${out}\n${err}` }
}

/** A folder that another user can reach; the one for temporary files may be closed to others. */
function openFolder(t: TestContext): string {
  const folder = mkdtempSync('/tmp/pcc-user-')
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
  return folder
}

type Run = (command: string, args: string[], cwd: string) => ChildProcessByStdio<null, Readable, Readable>

/** This checkout, or a copy of it where an ordinary user may not look into it. */
async function readableRoot(t: TestContext, run: Run): Promise<string> {
  const looking = run('/bin/cat', [join(ROOT, 'package.json')], '/')
  const [code] = (await once(looking, 'close')) as [number]
  if (code === 0) return ROOT.replace(/\/$/, '')
  const copy = openFolder(t)
  await once(spawn('chmod', ['755', copy], { stdio: 'ignore' }), 'exit')
  for (const name of ['src', 'test', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  const linked = spawn('cp', ['-al', join(ROOT, 'node_modules'), copy], { stdio: 'ignore' })
  const [failed] = (await once(linked, 'exit')) as [number]
  if (failed !== 0) cpSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), { recursive: true })
  return copy
}
