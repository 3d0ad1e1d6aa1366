import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { test } from 'node:test'
import type { RunDetail } from '../../../../src/domain/run.ts'
import { openSimulator } from '../../../../src/simulator/open.ts'
import { pccFor } from '../../../cli/pcc.ts'
import { plan } from '../../../e2e/run/plan.ts'
import { agentEnv, gitProject } from '../../../support/world.ts'
import { codexEnv } from '../../programs/codex.ts'
import { GEMINI_MODEL, geminiEnv } from '../../programs/gemini.ts'
import { program } from '../../programs/programs.ts'

const write = (file: string) => ({ tools: [{ Write: { file_path: file, content: 'made' } }] })
const LIMIT = { fault: { kind: 'limit', window: 'five_hour', resets: '+300m' } }

/** Claude writes half of the second task's work and meets its limit; the next agent writes the rest, and does the third task. */
const SCENARIO = JSON.stringify({
  tools: {
    Write: {
      gemini: 'write_file',
      responses: {
        name: 'apply_patch',
        input: { input: '*** Begin Patch\n*** Add File: {{input.file_path}}\n+{{input.content}}\n*** End Patch\n' },
      },
    },
  },
  conversations: [
    { match: { regex: '^HAND-OVER:[\\s\\S]*raise the wall' }, turns: [write('wall-2.txt'), { text: 'Made.' }] },
    { match: of('open the house'), turns: [write('house.txt'), { text: 'Made.' }] },
    { match: of('raise the wall'), turns: [write('wall-1.txt'), LIMIT], otherwise: LIMIT },
    { match: of('survey the plot'), turns: [write('plot.txt'), { text: 'Made.' }] },
  ],
})

function of(title: string): { regex: string } {
  return { regex: `^(${title}$|${title}\\n|[\\s\\S]*Your task: \\S+\\s+${title}\\s)` }
}

const SECONDS = {
  gemini: { entry: `gemini --model ${GEMINI_MODEL}`, env: geminiEnv },
  codex: { entry: 'codex', env: codexEnv },
}

for (const [name, { entry, env }] of Object.entries(SECONDS)) {
  test(`a run begins with Claude, meets a five-hour limit and ends with ${name}: every task done, verified and merged`, async t => {
    await using simulator = await openSimulator({ text: SCENARIO })
    const pcc = pccFor(t)
    const vendor = { ...agentEnv(pcc.home, simulator.url, 'oauth'), ...env(pcc.home, simulator.url) }
    Object.assign(pcc.env, {
      ...vendor,
      ...pcc.env,
      PATH: `${dirname(program(name))}:${vendor['PATH'] ?? ''}`,
      PCC_GATES_TEST: 'ls *.txt',
      PCC_FAILOVER_AGENTS: `claude,${entry}`,
      PCC_AGENTS_UNATTENDED: 'gemini',
      PCC_AGENTS_ENV: 'ANTHROPIC_*,CLAUDE_CODE_OAUTH_*,CLAUDE_CONFIG_DIR,SIMULATOR_KEY',
    })
    const project = gitProject(t)
    await plan(pcc, project, [
      ['survey the plot'],
      ['raise the wall', 'survey the plot'],
      ['open the house', 'raise the wall'],
    ])
    const ran = await pcc.run(['run', project, '--json'])
    const { id } = JSON.parse((await pcc.run(['runs', '--json'])).stdout).runs[0]
    const detail: RunDetail = JSON.parse((await pcc.run(['status', id, '--json'])).stdout)
    assert.deepEqual([detail.outcome, detail.tasks], ['complete', { done: 3 }], ran.stdout + ran.stderr)
    assert.equal(ran.code, 0)
    assert.deepEqual([detail.unverified, detail.merged], [0, 3])
    assert.deepEqual(
      detail.attempts.map(({ title, agent = 'claude', agents = [agent] }) => [title, ...agents]),
      [
        ['survey the plot', 'claude'],
        ['raise the wall', 'claude', name],
        ['open the house', name],
      ],
    )
    const files = execFileSync('git', ['ls-files', '*.txt'], { cwd: project, encoding: 'utf8' })
    assert.equal(files, 'house.txt\nplot.txt\nwall-1.txt\nwall-2.txt\n')
    // The first request to the second agent names the existing work.
    const told = JSON.stringify(simulator.requests.map(({ body }) => body))
    assert.match(told, /Claude Code worked on this task before you[\s\S]*Files that are not committed:[^|]*wall-1\.txt/)
  })
}
