import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSimulator } from '../../../src/simulator/open.ts'
import { faulty, WORK } from '../../simulator/wires/scenario.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { codexEnv } from '../programs/codex.ts'
import { GEMINI_MODEL, geminiOnceEnv } from '../programs/gemini.ts'
import { program } from '../programs/programs.ts'

const PROMPT = 'please do the work'
const AGENTS = {
  gemini: {
    env: geminiOnceEnv,
    args: ['-m', GEMINI_MODEL, '--yolo', '-p', PROMPT, '--output-format', 'stream-json'],
    limit: /quota will reset after 59m|quota will reset after 1h0m/,
  },
  codex: {
    env: codexEnv,
    args: ['exec', '--json', '--skip-git-repo-check', '-s', 'danger-full-access', PROMPT],
    limit: /hit your usage limit.*try again at/,
  },
}

for (const [name, { env, args, limit }] of Object.entries(AGENTS)) {
  test(`the real ${name} does its work from the same scenario, with tools of its own`, async t => {
    await using simulator = await openSimulator({ text: WORK })
    const { code, output, cwd } = await run(t, { name, args, env: home => env(home, simulator.url) })
    assert.equal(code, 0, output)
    assert.match(output, /All done in \/.*pcc-project-/)
    assert.equal(readFileSync(join(cwd, 'one.txt'), 'utf8'), 'one\n')
    assert.equal(existsSync(join(cwd, 'note.txt')), true)
    assert.deepEqual(
      simulator.requests.map(({ turn, unexpected }) => [turn, unexpected]),
      [
        ['work.turns[0]', []],
        ['work.turns[1]', []],
        ['work.turns[2]', []],
      ],
    )
  })

  test(`the real ${name} understands the limit of its own vendor at the first refusal`, async t => {
    await using simulator = await openSimulator({ text: faulty({ kind: 'limit', resets: '+60m' }) })
    const { code, output } = await run(t, { name, args, env: home => env(home, simulator.url) })
    assert.notEqual(code, 0)
    assert.match(output, limit)
    assert.equal(simulator.requests.length, 1)
  })
}

async function run(
  t: TestContext,
  { name, args, env }: { name: string; args: string[]; env: (home: string) => Record<string, string> },
): Promise<{ code: number | string | null | undefined; output: string; cwd: string }> {
  const cwd = gitProject(t)
  const given = env(tempDir(t, 'pcc-home-'))
  return new Promise(resolve => {
    const child = execFile(program(name), args, { cwd, env: given, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, output: `${stdout}${stderr}`, cwd }),
    )
    child.stdin?.end()
  })
}
