import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareCommand } from '../../../src/agents/acp/start-command.ts'
import { needsOf } from '../../../src/agents/agent-sandbox.ts'
import { NO_NEEDS } from '../../../src/base/sandbox/settings.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import { claudeAcpAgent } from '../../../src/domain/agents/claude-acp.ts'
import { copilotAgent } from '../../../src/domain/agents/copilot.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import { opencodeAgent } from '../../../src/domain/agents/opencode.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { PLAIN, stage } from '../acp/stage.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

// What code of an agent could leave in a vendor's folder for the program that the person starts themselves, without a sandbox.

function sandboxed(title: string, run: (t: TestContext) => Promise<void>) {
  test(title, t => ('program' in bubblewrap ? run(t) : refusedHere(t)))
}

function write(home: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), text)
  }
}

/** All that is in a folder, with the content of its files. */
function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  const contentOf = (path: string) => (statSync(path).isFile() ? readFileSync(path, 'utf8') : '')
  return Object.fromEntries(names.map(name => [name, contentOf(join(folder, name))]))
}

interface Attacked {
  needs: typeof geminiAgent.sandbox
  folder: string
  /** What the person has there. */
  files: Record<string, string>
  /** What the code of the agent tries in that folder. */
  attack: string
  /** What it can read there. */
  reads: string
}

const OTHER = 'what was said about another project'
const ATTACKED: Record<string, Attacked> = {
  'Gemini CLI': {
    needs: geminiAgent.sandbox,
    folder: '.gemini',
    files: { 'oauth_creds.json': '{"access_token":"a"}', 'tmp/other/chats/a.json': OTHER, 'extensions/mine/x': 'mine' },
    attack:
      'mv tmp tmp.old; mkdir -p tmp/bin history/x; echo evil > tmp/bin/rg; echo evil > oauth_creds.json; echo evil > settings.json; echo evil > extensions/mine/x; echo evil > new.json',
    reads: 'cat extensions/mine/x',
  },
  'Copilot CLI': {
    needs: copilotAgent.sandbox,
    folder: '.copilot',
    files: {
      'config.json': '{"installedPlugins":[]}',
      '../.cache/copilot/pkg/index.js': 'mine',
      'session-state/other/events.jsonl': OTHER,
    },
    attack:
      'mkdir -p installed-plugins/evil pkg/99 instructions hooks; for f in lsp-config.json config.json copilot-instructions.md mcp-config.json pkg/99/index.js installed-plugins/evil/hooks.json session-state/other/events.jsonl; do echo evil > $f; done; mkdir -p ~/.cache/copilot/pkg; echo evil > ~/.cache/copilot/pkg/index.js',
    // Where no layers can be made, what it has unpacked is not there.
    reads: 'cat ~/.cache/copilot/pkg/index.js 2>/dev/null || echo mine',
  },
  opencode: {
    needs: opencodeAgent.sandbox,
    folder: '.local/share/opencode',
    files: { 'auth.json': '{"x":{"type":"api","key":"k"}}', 'opencode.db': OTHER, 'bin/rg': 'mine' },
    attack:
      'git init -q --bare snapshot/other; git --git-dir snapshot/other config core.fsmonitor evil; echo evil > bin/rg; echo evil > opencode.db; echo "{\\"http://evil\\":{\\"type\\":\\"wellknown\\",\\"key\\":\\"BASH_ENV\\",\\"token\\":\\"/x\\"}}" > auth.json; mkdir -p ~/.local/state/opencode; echo evil > ~/.local/state/opencode/kv.json; echo evil > ~/.config/opencode/opencode.json',
    reads: 'cat bin/rg',
  },
}

for (const [name, { needs, folder, files, attack, reads }] of Object.entries(ATTACKED))
  sandboxed(`code of an agent leaves nothing for the ${name} that the person starts themselves`, async t => {
    const home = tempDir(t)
    const inFolder = Object.entries(files).map(([file, text]) => [join(folder, file), text])
    write(home, Object.fromEntries(inFolder))
    mkdirSync(join(home, '.config/opencode'), { recursive: true })
    mkdirSync(join(home, '.agent'))
    const before = treeOf(home)
    const settings = { caches: { folder: join(tempDir(t), 'caches') } }
    const { agent, sh } = await inSandbox(t, { project: gitProject(t), home, settings, needs: needs ?? {} })
    const said = await sh(`cd ~/${folder} && grep -r "${OTHER}" . ; ${reads}; { ${attack}; } >/dev/null 2>&1`)
    await agent.end()
    assert.equal(said.out, 'mine')
    assert.deepEqual(treeOf(home), before)
  })

for (const [name, { needs, folder, conversation }] of Object.entries({
  copilot: { needs: copilotAgent.sandbox, folder: '.copilot', conversation: 'session-state/one/events.jsonl' },
  opencode: { needs: opencodeAgent.sandbox, folder: '.local/share/opencode', conversation: 'opencode.db' },
}))
  sandboxed(`${name} finds the conversations of its project again, and those of no other`, async t => {
    const [home, data] = [tempDir(t), tempDir(t)]
    const inProject = async (project: string, line: string, reading = false) => {
      const settings = { conversations: join(data, project) }
      const { agent, sh } = await inSandbox(t, { project: gitProject(t), home, settings, reading, needs: needs ?? {} })
      const { out } = await sh(`cd ~/${folder}; ${line}`)
      await agent.end()
      return out
    }
    const file = `~/${folder}/${conversation}`
    await inProject('one', `mkdir -p $(dirname ${file}); echo said > ${file}`)
    assert.equal(await inProject('one', `cat ${file}`), 'said')
    assert.equal(await inProject('two', `test -e ${file} || echo nothing`), 'nothing')
    const verifier = await inProject('one', `test -e ${file} || echo nothing`, true)
    assert.equal(verifier, 'nothing', 'who verifies runs nothing that the work has left')
    assert.equal(readFileSync(join(data, 'one/workers', name, conversation), 'utf8'), 'said\n')
  })

for (const definition of [claudeAgent, claudeAcpAgent])
  sandboxed(
    `${definition.name} reads and writes the conversations of its directory only, and not its notes`,
    async t => {
      const [home, project] = [tempDir(t), realpathSync(gitProject(t))]
      const [own, other] = [project.replace(/[^a-zA-Z0-9]/g, '-'), '-home-person-bank']
      const notes = (name: string) => `.claude/projects/${name}/memory/MEMORY.md`
      write(home, { [`.claude/projects/${other}/a.jsonl`]: OTHER, [notes(other)]: OTHER, [notes(own)]: 'mine' })
      mkdirSync(join(home, '.agent'))
      const before = treeOf(home)
      const needs = needsOf(definition.sandbox ?? NO_NEEDS, { cwd: project, strictMcp: true })
      const { agent, sh } = await inSandbox(t, { project, home, needs })
      const said = await sh(
        `cd ~/.claude/projects; grep -r "${OTHER}" .; cat ./*/memory/MEMORY.md; echo said > ${own}/b.jsonl; ` +
          `{ mkdir -p ./${other}/memory third/memory; for f in ./*/memory/MEMORY.md ${other}/a.jsonl third/memory/MEMORY.md; do echo evil > $f; done; } 2>/dev/null`,
      )
      await agent.end()
      assert.equal(said.out, 'mine')
      assert.deepEqual(treeOf(home), { ...before, [`.claude/projects/${own}/b.jsonl`]: 'said\n' })
    },
  )

sandboxed('a link in the place of a folder of Gemini CLI shows and makes nothing in another project', async t => {
  const home = tempDir(t)
  write(home, { 'work/two/bin/deploy.sh': OTHER, 'work/two/chats/a.json': OTHER })
  mkdirSync(join(home, 'work/three'))
  mkdirSync(join(home, '.gemini'))
  for (const to of ['two', 'three']) {
    execFileSync('rm', ['-rf', join(home, '.gemini/tmp')])
    symlinkSync(join(home, 'work', to), join(home, '.gemini/tmp'))
    const { agent, sh } = await inSandbox(t, { project: gitProject(t), home, needs: geminiAgent.sandbox ?? {} })
    const { out } = await sh('grep -rs another ~/.gemini ~/work; echo x > ~/.gemini/tmp/x && echo wrote')
    await agent.end()
    assert.equal(out, 'wrote', 'its own folder, which disappears')
  }
  assert.deepEqual(Object.keys(treeOf(join(home, 'work'))), [
    ...['three', 'two', 'two/bin', 'two/bin/deploy.sh', 'two/chats', 'two/chats/a.json'],
  ])
})

sandboxed('of a login that opencode renews, the tokens become the person’s, and nothing else', async t => {
  const home = tempDir(t)
  const oauth = { type: 'oauth', access: 'a1', refresh: 'r1', expires: 1 }
  const auth = join(home, '.local/share/opencode/auth.json')
  write(home, {
    '.local/share/opencode/auth.json': JSON.stringify({ one: oauth, two: oauth, key: { type: 'api', key: 'k' } }),
  })
  const { agent, start } = await inSandbox(t, { project: gitProject(t), home, needs: opencodeAgent.sandbox ?? {} })
  const renewed = {
    one: { ...oauth, access: 'a2', refresh: 'r2', expires: 2, enterpriseUrl: 'http://evil' },
    two: { ...oauth, access: { $ref: 'evil' } },
    key: { type: 'api', key: 'evil' },
    'http://evil': { type: 'wellknown', key: 'BASH_ENV', token: '/evil' },
  }
  // As opencode writes it: beside the file, and then in its place.
  start(
    '/bin/sh',
    '-c',
    'cd ~/.local/share/opencode && echo "$0" > new && mv new auth.json; sleep 600',
    JSON.stringify(renewed),
  )
  const kept = {
    one: { ...oauth, access: 'a2', refresh: 'r2', expires: 2 },
    two: oauth,
    key: { type: 'api', key: 'k' },
  }
  const read = (): unknown => JSON.parse(readFileSync(auth, 'utf8'))
  for (let look = 0; look < 200 && !readFileSync(auth, 'utf8').includes('r2'); look++) await sleep(50)
  assert.deepEqual(read(), kept, 'while it works')
  await agent.end()
  assert.deepEqual(read(), kept)
})

sandboxed('what an earlier agent put in the place of a login of opencode, or of its programs, is replaced', async t => {
  const [home, conversations] = [tempDir(t), tempDir(t)]
  const own = '.local/share/opencode'
  write(home, { [`${own}/auth.json`]: '{"mine":1}', [`${own}/bin/rg`]: 'mine', secret: 'secret' })
  const inside = async (line: string) => {
    const { agent, sh } = await inSandbox(t, {
      ...{ project: gitProject(t), home, settings: { conversations }, needs: opencodeAgent.sandbox ?? {} },
    })
    const { out } = await sh(`cd ~/${own}; ${line}`)
    await agent.end()
    return out
  }
  await inside(`rm auth.json; ln -s ${home}/secret auth.json`)
  symlinkSync(home, join(conversations, 'workers/opencode/plant'))
  execFileSync('rm', ['-rf', join(conversations, 'workers/opencode/bin')])
  symlinkSync(join(home, 'work'), join(conversations, 'workers/opencode/bin'))
  assert.equal(await inside('cat auth.json bin/rg; rm auth.json; mkdir -p auth.json/x'), '{"mine":1}mine')
  assert.equal(await inside('cat auth.json'), '{"mine":1}')
  assert.equal(readFileSync(join(home, 'secret'), 'utf8'), 'secret')
  assert.ok(!existsSync(join(home, 'work')))
})

sandboxed('Gemini CLI finds its login, its settings and folders of its own in the home that it gets', async t => {
  const [home, moved, project] = [tempDir(t), tempDir(t), gitProject(t)]
  write(moved, { '.gemini/oauth_creds.json': 'login', '.gemini/GEMINI.md': 'mine', '.gemini/antigravity/x': 'other' })
  const env = { ...bareEnv(home), GEMINI_CLI_HOME: moved }
  const open = { env, cwd: project, id: 's-1', settingSources: [] } as unknown as OpenSession
  const command = await prepareCommand(geminiAgent, { open, program: undefined })
  t.after(() => command.dispose())
  const before = treeOf(moved)
  const { agent } = await inSandbox(t, { project, home, env, needs: geminiAgent.sandbox ?? {} })
  const line = [
    'cd "$GEMINI_CLI_HOME/.gemini" && cat oauth_creds.json GEMINI.md && echo renewed > oauth_creds.json',
    ...['tmp/one', 'history/one', 'antigravity/one', 'new/one'].map(
      name => `mkdir -p ${name} && echo x > ${name}/file`,
    ),
    'ls antigravity',
  ]
  const child = agent.spawn({
    ...{ ...command, env: { ...env, ...command.env }, command: '/bin/sh', args: ['-ec', line.join('\n')] },
    ...{ cwd: project, signal: new AbortController().signal },
  })
  const said = await text(child.stdout)
  await agent.end()
  assert.equal(said, 'loginmineone\n')
  assert.deepEqual(treeOf(moved), before)
})

sandboxed('the record in which Copilot CLI says its errors is read where pcc keeps it', async t => {
  if (!('program' in bubblewrap)) return
  const [home, conversations] = [tempDir(t), tempDir(t)]
  const said = {
    type: 'session.error',
    timestamp: '2999-01-01T00:00:00Z',
    data: { message: 'No quota', statusCode: 429 },
  }
  write(conversations, { 'workers/copilot/session-state/scripted-1/events.jsonl': `${JSON.stringify(said)}\n` })
  const script = { prompt: [{ say: 'Error: No quota' }, { answer: { stopReason: 'end_turn' } }] }
  const env = { ...bareEnv(home), ACP_SCRIPT: JSON.stringify(script) }
  const settings = { mode: 'required' as const, network: ['*'], read: [], write: [], hidden: [], conversations }
  const { home: own, runsUnasked } = copilotAgent.start
  const { ownWords = assert.fail(), sandbox = assert.fail() } = copilotAgent
  const { talk } = await stage(t, script, {
    manifest: {
      ownWords,
      sandbox,
      start: { ...PLAIN.start, ...(own && { home: own }), ...(runsUnasked && { runsUnasked }) },
    },
    open: { env, sandbox: { ...settings, made: bubblewrap } },
  })
  const { failure } = await talk.turn()
  assert.match(failure?.message ?? '', /No quota/)
})
