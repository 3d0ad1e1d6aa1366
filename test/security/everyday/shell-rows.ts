import { type Group, waitFor } from './table.ts'

/** Connects as docker does. */
export const DOCKER = `
import { connect } from 'node:net'
const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock'
connect(host.replace('unix://', '')).on('connect', () => console.log('connected')).on('error', error => {
  console.log('Cannot connect to the Docker daemon at ' + host + '. Is the docker daemon running? ' + error.code)
  process.exit(1)
})
`
const SOCKET = `
import { createServer, connect } from 'node:net'
const server = createServer(socket => socket.end('hello')).listen('/tmp/my.sock', () =>
  connect('/tmp/my.sock').on('data', data => { console.log(String(data)); server.close() }))
`

const shell: Group = {
  name: 'the shell',
  files: {
    'a.txt': 'alpha\nbeta\n',
    'script.sh': '#!/bin/sh\necho script ran\n',
    'docker.mjs': DOCKER,
    'socket.mjs': SOCKET,
  },
  rows: [
    {
      name: 'mktemp, and a folder of it',
      run: 'f=$(mktemp) && d=$(mktemp -d) && echo x > "$f" && cp "$f" "$d" && ls "$d"',
      prints: /tmp\./,
    },
    { name: 'files in /tmp and /var/tmp', run: 'echo x > /tmp/x && echo x > /var/tmp/x && cat /tmp/x /var/tmp/x' },
    { name: '~/.cache is written', run: 'mkdir -p ~/.cache/tool && echo kept > ~/.cache/tool/x' },
    { name: '~/.cache is there again', run: 'cat ~/.cache/tool/x', prints: /kept/ },
    {
      name: '~/.config and other settings are written',
      run: 'mkdir -p ~/.config/tool ~/.local/share/tool && echo x > ~/.config/tool/x && echo x > ~/.toolrc && ls -A ~',
      prints: /\.toolrc/,
    },
    {
      name: '/dev/null, /dev/urandom, /dev/stdout and /dev/fd',
      run: 'head -c 4 /dev/urandom > /dev/null && { echo seen > /dev/stdout; } | cat && cat /dev/fd/3 3< a.txt',
      prints: /seen[\s\S]*beta/,
    },
    { name: '/dev/shm', run: 'echo x > /dev/shm/x && cat /dev/shm/x' },
    { name: 'no terminal: a question fails at once', run: 'read x < /dev/tty', exit: 2, prints: /tty/ },
    { name: 'a pseudo-terminal', needs: ['script'], run: 'script -qec tty /dev/null', prints: /\/dev\/pts/ },
    {
      name: 'ps shows what runs here, and nothing else',
      needs: ['ps'],
      run: 'sleep 5 & ps ax | grep -c . ; ps ax',
      prints: /sleep 5/,
      never: /node --test/,
    },
    {
      name: 'a process in the background',
      run: 'sleep 0.2 & wait $! && nohup sleep 30 > /dev/null 2>&1 & echo started',
      prints: /started/,
    },
    {
      name: 'timeout and kill',
      run: 'timeout 0.2 sleep 5; echo $?; sleep 30 & kill $! && wait $!; echo $?',
      prints: /124\n[\s\S]*143/,
    },
    { name: 'flock', needs: ['flock'], run: 'flock lock echo locked', prints: /locked/ },
    { name: 'a Unix socket in /tmp', run: 'node socket.mjs', prints: /hello/ },
    { name: 'a named pipe', run: 'mkfifo pipe && (echo through > pipe &) && cat pipe', prints: /through/ },
    {
      name: 'a script of the project',
      run: 'chmod +x script.sh && ./script.sh && . ./script.sh',
      prints: /script ran/,
    },
    {
      name: 'links and permissions',
      run: 'ln -sf a.txt soft && ln -f a.txt hard && chmod 600 hard && cp -a a.txt copy && cat soft',
      prints: /beta/,
    },
    {
      name: 'tar and gzip',
      run: 'tar czf x.tgz a.txt && mkdir -p out && tar xzf x.tgz -C out && cat out/a.txt',
      prints: /beta/,
    },
    { name: 'zip and unzip', needs: ['zip', 'unzip'], run: 'zip -q x.zip a.txt && unzip -p x.zip', prints: /beta/ },
    {
      name: 'xz and zstd',
      needs: ['xz', 'zstd'],
      run: 'xz -k a.txt && zstd -q a.txt && xzcat a.txt.xz && zstdcat a.txt.zst',
      prints: /beta/,
    },
    {
      name: 'sed -i, awk, sort and find',
      run: "sed -i s/alpha/gamma/ a.txt && awk '{ print NR, $0 }' a.txt && find . -name '*.txt' | sort",
      prints: /1 gamma/,
    },
    { name: 'xargs with several processes', run: 'seq 4 | xargs -P 4 -I{} echo item {}', prints: /item 4/ },
    {
      name: 'diff and patch',
      needs: ['patch'],
      run: 'cp a.txt b.txt && echo more >> b.txt; diff -u a.txt b.txt > p; patch a.txt p && cat a.txt',
      prints: /more/,
    },
    {
      name: 'sqlite3',
      needs: ['sqlite3'],
      run: "sqlite3 x.db 'pragma journal_mode=wal; create table t(a); insert into t values (42); select a from t'",
      prints: /42/,
    },
    { name: 'jq', needs: ['jq'], run: `echo '{"a":42}' | jq .a`, prints: /42/ },
    { name: 'perl', needs: ['perl'], run: "perl -e 'print 6*7'", prints: /42/ },
    {
      name: 'openssl makes a certificate',
      needs: ['openssl'],
      run: 'openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 1 -subj /CN=localhost && openssl x509 -in c.pem -noout -subject',
      prints: /localhost/,
    },
    {
      name: 'ssh-keygen for a test',
      needs: ['ssh-keygen'],
      run: 'ssh-keygen -q -t ed25519 -N "" -f key && cat key.pub',
      prints: /ssh-ed25519/,
    },
    {
      name: 'gpg makes a key for a test',
      needs: ['gpg'],
      run: 'gpg --batch --passphrase "" --quick-gen-key test@example.invalid && gpg --list-keys',
      prints: /test@example\.invalid/,
    },
    {
      name: 'tmux',
      needs: ['tmux'],
      run: 'SHELL=/bin/sh tmux -f /dev/null new-session -d -s x "sleep 30" && tmux list-sessions; tmux kill-server',
      prints: /^x:/m,
    },
    { name: 'who and where', run: 'id -un; hostname; date; uname -a; df . ; nproc; free -m', prints: /Mem/ },
    { name: 'locale and time zone', run: 'TZ=Europe/Berlin date +%Z && locale', prints: /CES?T/ },
    { name: 'DNS of localhost', needs: ['getent'], run: 'getent hosts localhost', prints: /localhost/ },
    {
      name: 'postgres',
      needs: ['initdb', 'pg_ctl', 'psql'],
      notAsRoot: true,
      run: "initdb -D /tmp/pg -A trust -U me >/dev/null && pg_ctl -D /tmp/pg -w -o \"-k /tmp -c listen_addresses=''\" -l /tmp/log start >/dev/null && psql -h /tmp -U me -d postgres -Atc 'select 6*7'; code=$?; pg_ctl -D /tmp/pg -m immediate stop; exit $code",
      prints: /^42$/m,
    },
    {
      name: 'redis',
      needs: ['redis-server'],
      run: `redis-server --port 0 --unixsocket /tmp/r.sock --daemonize yes; ${waitFor('/tmp/r.sock')}`,
    },
    {
      name: 'GH_TOKEN that the person named is there',
      run: 'test -n "$GH_TOKEN" && test "$(printf %s "$GH_TOKEN" | wc -c)" -eq 20',
    },
    { name: 'a program of a version that is chosen by a link', run: 'tool-of-nvm', prints: /tool of nvm/ },
    {
      name: 'a virtual environment that Poetry keeps in ~/.cache',
      needs: ['python-of-poetry'],
      run: "python-of-poetry -c 'import sys; print(sys.prefix)'",
      prints: /pypoetry\/virtualenvs\/one/,
    },
    { name: 'another token is not', run: 'test -z "$OTHER_TOKEN"' },
    { name: 'gh reads the token', needs: ['gh'], run: 'gh auth token' },
    { name: 'docker is refused, with the reason', run: 'node docker.mjs', exit: 1, prints: /sandbox/ },
    {
      name: 'the real docker is refused, with the reason',
      needs: ['docker'],
      run: 'docker ps',
      exit: 1,
      prints: /sandbox/,
    },
  ],
}

const AT = ['home behind a link', 'in the home', 'in the home behind a link', 'another mount'] as const

const unusual = AT.map(
  (at): Group => ({
    ...{ name: `unusual paths: ${at}`, at },
    files: { 'README.md': '# sample\n', 'one.test.js': "require('node:test')('one', () => undefined)\n" },
    rows: [
      {
        name: 'a commit',
        run: 'echo x > x && git add -A && git commit -qm x && git log -1 --format=%an',
        prints: /Ada Person/,
      },
      { name: 'node --test', run: 'node --test', prints: /pass 1/ },
      {
        name: '~/.cache and ~/.config are written',
        run: 'echo kept > ~/.cache/x && mkdir -p ~/.config/y && cd ~ && pwd',
      },
      { name: '~/.cache is there again', run: 'cat ~/.cache/x', prints: /kept/ },
      { name: 'the home has nothing else', run: 'cat ~/private; ls -A ~', never: /a secret of the person/ },
    ],
  }),
)

export const SHELL: Group[] = [shell, ...unusual]
