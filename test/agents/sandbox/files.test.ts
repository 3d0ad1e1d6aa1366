import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { SandboxSettings } from '../../../src/base/sandbox/settings.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { agentFolder, bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

/** On a machine without a sandbox the test asserts that a required one is refused with the reason. */
const sandboxed = (title: string, body: (t: TestContext) => Promise<void>) =>
  test(title, 'program' in bubblewrap ? body : refusedHere)

sandboxed('the project and the agent’s own state are written, and nothing else is', async t => {
  const project = gitProject(t)
  const elsewhere = tempDir(t)
  const { sh, home } = await inSandbox(t, { project, settings: { read: [elsewhere] } })
  const { out } = await sh(
    `echo a > inside.txt; echo b > "$HOME/.agent/token"; for f in /etc/x /usr/x "${elsewhere}/x"; do touch $f 2>/dev/null && echo wrote $f; done; echo done`,
  )
  assert.equal(out, 'done')
  assert.equal(readFileSync(join(project, 'inside.txt'), 'utf8'), 'a\n')
  assert.equal(readFileSync(join(home, '.agent/token'), 'utf8'), 'b\n')
  assert.deepEqual(existsSync(join(elsewhere, 'x')), false)
})

sandboxed('what the judgement leaves to a sandbox changes nothing outside of the project', async t => {
  const [project, beside] = [gitProject(t), tempDir(t)]
  for (const file of ['dist/a.js', 'src/a.pyc', '.env.example', 'run.sh']) {
    mkdirSync(join(project, file, '..'), { recursive: true })
    writeFileSync(join(project, file), 'x')
  }
  writeFileSync(join(beside, 'kept'), 'x')
  const other = spawn('/bin/sleep', ['300'], { stdio: 'ignore' })
  t.after(() => other.kill('SIGKILL'))
  const { sh, agent } = await inSandbox(t, { project, settings: { network: ['*'] } })
  assert.equal(agent.walled, false, 'nothing runs yet')
  const held = [
    ...[`kill -9 ${other.pid}`, 'pkill -9 -x sleep', 'rm -rf dist', "find . -name '*.pyc' -delete", 'echo a > out.log'],
    ...['echo a > /tmp/out.log', `rm -rf ${beside}`, 'cp .env.example .env', 'ln -s run.sh link', 'chmod +x run.sh'],
  ]
  const { out } = await sh(
    `${held.map(line => `${line} 2>/dev/null`).join('; ')}; cat /tmp/out.log; ls dist 2>&1 | wc -l`,
  )
  assert.equal(agent.walled, true)
  assert.equal(out, 'a\n1')
  assert.deepEqual([other.exitCode, other.signalCode, existsSync(`/proc/${other.pid}`)], [null, null, true])
  assert.ok(existsSync(join(beside, 'kept')))
  assert.ok(!existsSync('/tmp/out.log') || readFileSync('/tmp/out.log', 'utf8') !== 'a\n')
  assert.ok(existsSync(join(project, '.env')) && !existsSync(join(project, 'src/a.pyc')))
})

sandboxed('of the home directory nothing is seen but programs, and what was named', async t => {
  const home = tempDir(t)
  for (const file of [
    '.ssh/id_ed25519',
    '.aws/credentials',
    '.unknown/secret',
    'letter.txt',
    '.local/bin/tool',
    'named.txt',
  ]) {
    mkdirSync(join(home, file, '..'), { recursive: true })
    writeFileSync(join(home, file), 'secret')
  }
  const { sh } = await inSandbox(t, { project: gitProject(t), home, settings: { read: ['~/named.txt'] } })
  const { out } = await sh('cd "$HOME" && find . -type f | sort')
  assert.equal(out, './.local/bin/tool\n./named.txt')
})

sandboxed('a program that lies in the home itself is shown, and not what lies beside it', async t => {
  const home = tempDir(t)
  writeFileSync(join(home, 'secret.txt'), 'secret')
  writeFileSync(join(home, 'agent'), '#!/bin/sh\ncd; find . -type f | sort\n', { mode: 0o755 })
  mkdirSync(join(home, 'sub'))
  writeFileSync(join(home, 'sub/script.sh'), '')
  const { start } = await inSandbox(t, { project: gitProject(t), home, env: { PATH: `${home}:/usr/bin:/bin` } })
  const child = start(join(home, 'agent'), join(home, 'sub/script.sh'))
  const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
  assert.equal(out, './agent\n./sub/script.sh\n')
})

sandboxed('a folder on the PATH is seen, and neither what lies beside it nor what lies beside a script', async t => {
  const home = tempDir(t)
  for (const file of ['.tool/bin/tool', '.tool/credentials.toml', '.tool/lib/part', 'own/agent.sh', 'own/secret']) {
    mkdirSync(join(home, file, '..'), { recursive: true })
    writeFileSync(join(home, file), '#!/bin/sh\ncd "$HOME" && find . -type f | sort\n', { mode: 0o755 })
  }
  const env = { PATH: `${home}/.tool/bin:/usr/bin:/bin` }
  const { start } = await inSandbox(t, { project: gitProject(t), home, env })
  const child = start('/bin/sh', join(home, 'own/agent.sh'))
  const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
  assert.equal(out, './.tool/bin/tool\n./.tool/lib/part\n./own/agent.sh\n')
})

sandboxed('it has a /tmp and processes of its own, no rights over the system and no way to more', async t => {
  const mine = tempDir(t)
  const { sh } = await inSandbox(t, { project: gitProject(t) })
  const { out } = await sh(
    `test -e "${mine}" && echo sees tmp; ls /run | head -1; test -r /proc/${process.pid}/environ && echo sees us; unshare -U true 2>/dev/null && echo nests; mount -o remount,bind,rw / 2>/dev/null && echo mounts; grep CapEff /proc/self/status`,
  )
  assert.equal(out, 'CapEff:\t0000000000000000')
})

const CONNECT = `for (const path of process.argv.slice(1))
  require('node:net').connect(path).on('connect', function () { console.log('reached'); this.end() }).on('error', e => console.log(e.code))`

sandboxed('it reaches the sockets of its project, and none of those that are elsewhere', async t => {
  const project = gitProject(t)
  const elsewhere = tempDir(t)
  const sockets = [join(elsewhere, 's'), join(project, 's')]
  for (const path of sockets) {
    const server = createServer(socket => socket.end()).listen(path)
    await once(server, 'listening')
    utimesSync(path, new Date(0), new Date(0)) // as that of a service, which has been there for long
    t.after(() => server.close())
  }
  const connect = async (settings: Partial<SandboxSettings>) => {
    const { start } = await inSandbox(t, { project, settings: { network: ['*'], read: [elsewhere], ...settings } })
    const child = start(process.execPath, '-e', CONNECT, ...sockets)
    return (await text(child.stdout)).split('\n').filter(Boolean).toSorted()
  }
  assert.deepEqual(await connect({}), ['ECONNREFUSED', 'reached'])
  assert.deepEqual(await connect({ write: [join(elsewhere, 's')] }), ['reached', 'reached'])
})

sandboxed('it inherits nothing that was open in whoever started the daemon', async t => {
  const secret = join(tempDir(t), 'secret')
  writeFileSync(secret, 'secret')
  const module = (path: string) => JSON.stringify(join(import.meta.dirname, '../../../src/base/sandbox', path))
  const env = bareEnv(tempDir(t))
  const [program, project] = ['program' in bubblewrap ? bubblewrap : undefined, gitProject(t)]
  const script = `
    import { spawnSync } from 'node:child_process'
    import { openSandbox } from ${module('sandbox.ts')}
    import { NO_NEEDS } from ${module('settings.ts')}
    const settings = { mode: 'required', network: ['*'], read: [], write: [], hidden: [] }
    const opening = { bubblewrap: ${JSON.stringify(program)}, settings, needs: NO_NEEDS, env: process.env, reading: false, log() {} }
    await using sandbox = openSandbox(opening)
    const inside = { command: '/bin/sh', args: ['-c', 'ls -l /proc/self/fd'], cwd: ${JSON.stringify(project)}, env: process.env, shows: [], writes: [] }
    const { command, args } = sandbox.wrap(inside, { pidNamespace: true })
    console.log(String(spawnSync(command, args, { env: process.env }).stdout))`
  // Node keeps low ones from its children by itself.
  const [fd, ignored] = [openSync(secret, 'r'), Array<'ignore'>(26).fill('ignore')]
  t.after(() => closeSync(fd))
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    ...{ env, stdio: ['ignore', 'pipe', 'inherit', ...ignored, fd] },
  })
  const out = await text(child.stdout as Readable)
  assert.match(out, / 0 -> /)
  assert.doesNotMatch(out, /secret/)
})

sandboxed('in a worktree it commits, and cannot change what git runs', async t => {
  const project = gitProject(t)
  const top = join(tempDir(t), 'tree')
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/t', top], { cwd: project, env, stdio: 'pipe' })
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/o', join(tempDir(t), 'other')], {
    cwd: project,
    env,
    stdio: 'pipe',
  })
  const [own, shared] = await Promise.all([findGitFolder(top), findGitFolder(project)])
  assert.ok(own && shared)
  const git = { top, own: own.own, common: shared.common }
  const { sh } = await inSandbox(t, { project: top, settings: { git, read: [project] } })
  const commit = 'git add -A && git -c user.name=T -c user.email=t@example.invalid commit -q -m committed'
  const { out, code } = await sh(
    `echo hi > new.txt && ${commit} || exit 1; git config core.fsmonitor evil 2>/dev/null && echo config; for f in "${shared.common}/hooks/post-commit" .git "${shared.common}/HEAD" "${shared.common}/commondir" "${own.own}/commondir" "${own.own}/config.worktree" "${shared.common}/worktrees/other/commondir" "${shared.common}/worktrees/new" "${project}/README.md"; do (echo x > "$f") 2>/dev/null && echo wrote "$f"; done; mv "${shared.common}" "${shared.common}2" 2>/dev/null && echo moved; exit 0`,
  )
  assert.deepEqual({ out, code }, { out: '', code: 0 })
  assert.match(execFileSync('git', ['log', '--oneline', 'pcc/t'], { cwd: project, env, encoding: 'utf8' }), /committed/)
})

sandboxed(
  'in a worktree of ours it moves no branch or tag but those of tasks, also after git has packed them',
  async t => {
    const project = gitProject(t)
    const top = join(tempDir(t), 'tree')
    const env = bareEnv(tempDir(t))
    const host = (...args: string[]) =>
      execFileSync('git', args, { cwd: project, env, encoding: 'utf8', stdio: 'pipe' })
    host('tag', 'v1')
    host('branch', 'release')
    host('worktree', 'add', '-q', '-b', 'pcc/t', top)
    const [own, shared] = await Promise.all([findGitFolder(top), findGitFolder(project)])
    assert.ok(own && shared)
    const { common } = shared
    const before = host('for-each-ref')
    const { agent, start } = await inSandbox(t, {
      project: top,
      settings: { git: { top, own: own.own, common }, branches: 'pcc', read: [project] },
    })
    const commit = 'git -c user.name=T -c user.email=t@example.invalid commit -q --allow-empty -m'
    const moves = [
      ...['git update-ref refs/heads/main HEAD', 'git branch -f release HEAD', 'git tag -f v1 HEAD', 'git branch new'],
      ...['git update-ref refs/pcc/archive/x/1 HEAD', 'git replace HEAD HEAD~1', 'git pack-refs --all'],
      ...[
        `git rev-parse HEAD > ${common}/refs/heads/main`,
        `rm ${common}/refs/heads/main`,
        `rm -r ${common}/logs/refs/heads`,
      ],
      ...[
        `mv ${common}/refs/heads ${common}/refs/h2`,
        `mv ${common}/refs ${common}/r2`,
        `echo x > ${common}/packed-refs`,
      ],
      ...[`mv ${common}/logs/HEAD ${common}/logs/H`, `ln -sf ${top}/victim ${common}/logs/HEAD`],
      ...[`git --git-dir=${common} symbolic-ref HEAD refs/heads/release`, `echo x > ${common}/refs/tags/v2`],
    ].map(move => `(${move}) 2>/dev/null && echo "did: ${move}"`)
    const child = start(
      '/bin/sh',
      '-c',
      `${commit} one || exit 1; ${moves.join('; ')}; ln -s ${top}/victim ${common}/logs/refs/stash; echo tried; read go; ${commit} two && mkfifo ${common}/refs/heads/pcc/x && echo again`,
    )
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      // Git packs refs outside and removes the folders that are empty then.
      if (text.includes('tried')) {
        host('pack-refs', '--all')
        child.stdin.end('go\n')
      }
    })
    await once(child, 'close')
    assert.equal(out, 'tried\nagain\n')
    await agent.end()
    // Git outside would append to what a link leads to, and wait for a pipe.
    for (const planted of ['logs/refs/stash', 'refs/heads/pcc/x'])
      assert.equal(lstatSync(join(common, planted), { throwIfNoEntry: false }), undefined, planted)
    const others = (refs: string) => refs.split('\n').filter(line => !line.includes('pcc/t'))
    assert.deepEqual(others(host('for-each-ref')), others(before))
    assert.equal(host('symbolic-ref', 'HEAD'), 'refs/heads/main\n')
    assert.match(host('log', '--oneline', 'pcc/t'), /two\n.* one/)
    host('fsck')
  },
)

sandboxed('in the main checkout it commits, and cannot change what git runs there or in a worktree', async t => {
  const project = gitProject(t)
  const env = bareEnv(tempDir(t))
  const other = ['worktree', 'add', '-q', '-b', 'pcc/o', join(tempDir(t), 'other')]
  execFileSync('git', other, { cwd: project, env, stdio: 'pipe' })
  const { sh } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
  const { out, code } = await sh(
    `echo hi > new.txt && git add -A && git -c user.name=T -c user.email=t@example.invalid commit -q -m committed || exit 1; cd .git; for f in config config.worktree hooks/post-commit worktrees/other/commondir worktrees/other/gitdir worktrees/new; do (echo x > "$f") 2>/dev/null && echo wrote "$f"; done; exit 0`,
  )
  assert.deepEqual({ out, code }, { out: '', code: 0 })
})

sandboxed('where the repository is kept elsewhere it commits, and cannot lead git to another one', async t => {
  const [project, apart] = [tempDir(t), join(tempDir(t), 'apart')]
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['init', '-q', '-b', 'main', `--separate-git-dir=${apart}`], { cwd: project, env, stdio: 'pipe' })
  const { sh } = await inSandbox(t, { project, settings: { git: { top: project, own: apart, common: apart } } })
  const commit = 'git add -A && git -c user.name=T -c user.email=t@example.invalid commit -q -m committed'
  const { out } = await sh(
    `echo hi > new.txt && ${commit} || exit 1; (echo "gitdir: $PWD/x" > .git) 2>/dev/null && echo wrote; rm -f .git 2>/dev/null && echo removed; mv .git old 2>/dev/null && echo moved; exit 0`,
  )
  assert.equal(out, '')
  assert.match(execFileSync('git', ['log', '--oneline'], { cwd: project, env, encoding: 'utf8' }), /committed/)
})

sandboxed(
  'in the main checkout a commondir, by which git would read settings of the agent, is taken away, and the agent ends',
  async t => {
    const project = gitProject(t)
    const { agent, start } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
    const evil = 'mkdir evil; cp -r .git/. evil; git config -f evil/config core.fsmonitor "touch $PWD/run; false"'
    start('/bin/sh', '-c', `${evil}; echo "$PWD/evil" > .git/commondir; echo > "$HOME/.agent/put"; sleep 600`)
    await agent.exited()
    assert.match(agent.failureText, /it has put a commondir into .*\.git/)
    await agent.end()
    assert.equal(existsSync(join(project, '.git/commondir')), false)
    execFileSync('git', ['status'], { cwd: project, env: bareEnv(tempDir(t)), stdio: 'pipe' })
    assert.equal(existsSync(join(project, 'run')), false, 'git outside runs nothing of it')
  },
)

sandboxed(
  'a commondir that comes with the last breath of an agent is taken away too; one that was there stays',
  async t => {
    const project = gitProject(t)
    const settings = { git: await findGitFolder(project) }
    const { agent, sh } = await inSandbox(t, { project, settings })
    await sh('echo /elsewhere > .git/commondir')
    await agent.end()
    assert.equal(existsSync(join(project, '.git/commondir')), false)
    writeFileSync(join(project, '.git/commondir'), '.\n')
    const other = await inSandbox(t, { project, settings })
    assert.equal((await other.sh('true')).code, 0)
    await other.agent.end()
    assert.equal(readFileSync(join(project, '.git/commondir'), 'utf8'), '.\n')
  },
)

sandboxed('a file of the project that the settings of git include is not its to change', async t => {
  const project = gitProject(t, { '.gitconfig': '[alias]\n\tlast = log -1\n', 'other.txt': 'x\n' })
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['config', 'include.path', '../.gitconfig'], { cwd: project, env, stdio: 'pipe' })
  const { sh } = await inSandbox(t, { project, settings: { git: await findGitFolder(project) } })
  const { out } = await sh('for f in .gitconfig other.txt; do (echo x > $f) 2>/dev/null && echo wrote $f; done; exit 0')
  assert.equal(out, 'wrote other.txt')
})

sandboxed('what an agent’s own state would run the next time is not its to write, there or not', async t => {
  const home = tempDir(t)
  mkdirSync(join(home, '.agent/hooks'), { recursive: true })
  writeFileSync(join(home, '.agent/hooks/one.json'), 'mine')
  const folder = agentFolder({ readOnly: ['hooks', 'extensions', 'deep/down/bin'] })
  const { sh } = await inSandbox(t, { project: gitProject(t), home, needs: { folder } })
  const { out } = await sh(
    'cd "$HOME/.agent"; for f in hooks/one.json extensions/x deep/down/bin/x login; do (echo x > $f) 2>/dev/null && echo wrote $f; rm -rf $f 2>/dev/null; done; for f in extensions deep deep/down; do mv $f away 2>/dev/null && echo moved $f; done; cat hooks/one.json',
  )
  assert.equal(out, 'wrote login\nmine')
  for (const [link, to] of [
    ['hooks', '/nowhere'],
    ['deep', tempDir(t)],
  ] as const) {
    const linked = await inSandbox(t, { project: gitProject(t), needs: { folder } })
    symlinkSync(to, join(linked.home, '.agent', link))
    await assert.rejects(linked.sh('true'), { code: 'sandbox_link' })
    assert.ok(!existsSync(join(to, 'down')), 'nothing is made where the link leads')
  }
})

sandboxed('one that only reads writes neither the project nor its repository', async t => {
  const project = gitProject(t)
  const { sh } = await inSandbox(t, { project, reading: true, settings: { git: await findGitFolder(project) } })
  const { out } = await sh(
    'for f in new.txt README.md .git/index .git/refs/heads/x "$HOME/.agent/login"; do (echo x > "$f") 2>/dev/null && echo wrote "${f##*/}"; done; git log --oneline | wc -l',
  )
  assert.equal(out, 'wrote login\n1')
})

sandboxed('caches, a home or a folder of ours that cannot be used are named, with what to do', async t => {
  const project = gitProject(t)
  const file = join(tempDir(t), 'file')
  writeFileSync(file, '')
  const refused = (path: string) => ({
    code: 'sandbox_folder',
    message: new RegExp(path),
    next: /Make it usable for you/,
  })
  const { start } = await inSandbox(t, { project, settings: { caches: { folder: join(file, 'caches') } } })
  assert.throws(() => start('/bin/true'), refused(`${file}/caches`))
  await assert.rejects(inSandbox(t, { project, settings: { scratch: join(file, 'boxes') } }), refused(`${file}/boxes`))
  const other = await inSandbox(t, { project, env: { HOME: file } })
  assert.throws(() => other.start('/bin/true'), refused(`${file}/.agent`))
})

sandboxed('packages from which pcc itself runs cannot be changed, moved or replaced', async t => {
  const project = gitProject(t)
  const kept = join(project, 'node_modules')
  mkdirSync(join(kept, 'perpetualcc'), { recursive: true })
  const { sh } = await inSandbox(t, { project, settings: { kept: [kept] } })
  const { out } = await sh(
    'for f in perpetualcc/pcc.js other.js; do (echo x > node_modules/$f) 2>/dev/null && echo wrote $f; done; mv node_modules away 2>/dev/null && echo moved; rm -rf node_modules 2>/dev/null; ls node_modules; touch beside && echo beside',
  )
  assert.equal(out, 'perpetualcc\nbeside')
})

sandboxed('a project that holds the home directory is refused', async t => {
  const project = tempDir(t)
  const home = join(project, 'me')
  const { sh } = await inSandbox(t, { project, home })
  await assert.rejects(sh('true'), { code: 'sandbox_project' })
})

sandboxed('what is ours is not seen, and what would show it is refused', async t => {
  const [project, data] = [gitProject(t), tempDir(t)]
  const run = join(data, 'run')
  mkdirSync(run)
  writeFileSync(join(run, 'token'), 'secret')
  const inside = await inSandbox(t, { project, settings: { read: [join(data, 'worktrees')], hidden: [data, run] } })
  assert.equal((await inside.sh(`cat ${run}/token 2>/dev/null; ls ${run}`)).out, '')
  for (const settings of [{ read: [data] }, { write: [run] }]) {
    const { sh } = await inSandbox(t, { project, settings: { ...settings, hidden: [data, run] } })
    await assert.rejects(sh('true'), { code: 'sandbox_project' })
  }
  const { sh } = await inSandbox(t, { project, settings: { hidden: [join(project, '.git')] } })
  await assert.rejects(sh('true'), { code: 'sandbox_project' })
})
