import assert from 'node:assert/strict'
import { test } from 'node:test'
import { misjudged, NONE } from './disk-project.ts'

// Everyday work that the files of the project show to be harmless, beside what only looks like it.

test('the own environment of the project goes to a program file of the project, and to nothing else', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'node --env-file=.env.production dist/index.js',
        'node --env-file=.env -e "console.log(process.env)"',
        'node --env-file=.env -p process.env',
        'node --env-file=.env -pe process.env dist/index.js',
        'node --env-file=.env',
        'node --env-file=.env /tmp/x.js',
        'node --env-file=.env ../x.js',
        'node --env-file=../.env dist/index.js',
        'node --env-file=~/.env dist/index.js',
        'node --env-file=.env --import ./x.mjs dist/index.js',
        'echo "console.log(process.env)" > src/n.js; node --env-file=.env src/n.js',
        'tsx --env-file=.env -e "console.log(process.env)"',
      ],
      everyday: [
        'node --env-file=.env dist/index.js',
        'node --env-file .env dist/index.js',
        'npm run build && node --env-file=.env dist/index.js &',
        'node --env-file=.env --enable-source-maps dist/index.js > /tmp/app.log 2>&1 & echo $! > /tmp/app.pid',
        'npx tsx --env-file=.env.local prisma/seed.ts',
        'node --env-file-if-exists=.env --watch dist/index.js',
      ],
    }),
    NONE,
  )
})

test('a client of a database that is fed a text which only asks is judged like one with that text as a word', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        "echo 'drop table users;' | psql app_dev",
        "echo 'select 1; update a set b = 1;' | psql app_dev",
        "printf 'select 1\\\\gexec' | psql app_dev",
        "echo '.shell id' | sqlite3 app.db",
        "printf 'select 1;\\n.shell id' | sqlite3 app.db",
        'cat q.sql | psql app_dev',
        "{ echo 'select 1;'; cat q.sql; } | psql app_dev",
        "echo 'select pg_promote();' | psql app_dev",
        'echo "select $X;" | psql app_dev',
        "echo 'select 1;' | tee q | psql app_dev",
        "echo 'select 1;' | psql -h db.prod.example app",
      ],
      everyday: [
        "echo 'select id from orders limit 5;' | psql app_dev",
        `echo 'select id, "totalCents" from "Order" limit 5;' | docker compose exec -T db psql -U orders orders_dev`,
        "printf 'select count(*) from a;' | sqlite3 app.db",
        "echo 'explain select 1;' | psql -U app app_dev",
        "cat <<'X' | psql app_dev\nselect 1;\nX",
      ],
    }),
    NONE,
  )
})

test('program texts that only compute from what is written in them or from data of the project are everyday', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'python -c "from report.aggregate import delete_all as t; t()"',
        'python -c "from os import system as t; t(1)"',
        'python -c "from report.aggregate import totals as run; run()"',
        `node -e "const o=require('./data/orders.json');o.constructor.constructor('x')()"`,
        `node -e "const {constructor:c}=console.log;c('x')()"`,
        `node -e "(({constructor:c})=>c('x')())(Math.max)"`,
        `node -e "[{constructor:c}]=[Math.max];c('x')()"`,
        `node -e "const o=require('./data/orders.js');console.log(o)"`,
        `node -e "const eval2=1;eval('x')"`,
        `node -e "const o=require('./.env');console.log(o)"`,
        `node -p "eval(Buffer.from('aGVsbG8=','base64').toString())"`,
        `node -p "Buffer.from('aGVsbG8=','base64').toString()" | sh`,
        `node -p "Buffer.from(process.env.X,'base64').toString()"`,
        "perl -ne 'print if /(?{ system q(id) })/' src/app.ts",
        "perl -i -ne 'print if /x/' src/app.ts",
        "perl -ne 'print if /x/e; unlink q(a)' src/app.ts",
        "perl -Mx -ne 'print if /x/' src/app.ts",
        "perl -ne 'print if /x/' .env",
      ],
      everyday: [
        `python -c "from report.aggregate import totals_by_user as t; print(t([{'userId':'a','totalCents':5}]))"`,
        'python3 -c "from datetime import datetime; print(datetime.utcfromtimestamp(1718000000))"',
        `node -e "console.log(new Intl.NumberFormat('en-IE',{style:'currency',currency:'EUR'}).format(19.99))"`,
        `node -e "const o=require('./data/orders.json');console.log(o.reduce((s,x)=>s+x.totalCents,0))"`,
        `node -e "const orders=require('./data/orders.json');console.log(orders.filter(o=>o.totalCents>5).length)"`,
        `node -p "Buffer.from('aGVsbG8=','base64').toString()"`,
        `node -e "console.log(Buffer.from('hello').toString('hex'))"`,
        `python3 -c "import base64; print(base64.b64decode('aGVsbG8=').decode())"`,
        "perl -ne 'print if /router/i' src/app.ts",
        "perl -ne 'print unless /^#/' src/app.ts",
        "perl -lne 'print if 1..5' src/app.ts",
      ],
    }),
    NONE,
  )
})

test('what stays on this machine or can be made again is everyday, and what only looks like it is not', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'UPSTREAM=http://e.example:3000 ./gateway/bin/gateway',
        'UPSTREAM=http://localhost.e.example ./gateway/bin/gateway',
        'HTTP_PROXY=http://localhost:3000 npm ci',
        'NODE_OPTIONS=http://localhost:3000 node dist/index.js',
        'X=file:///etc/passwd ./gateway/bin/gateway',
        'go test ./... -coverprofile=/etc/c.out',
        'go tool cover -func=/etc/passwd',
        "find . -name '*.ts' -not -path './node_modules/*' -delete",
        "find . -not -name '*.tsbuildinfo' -delete",
        "find . -name '*.tsbuildinfo' -o -name '*.ts' -delete",
        "find .. -name '*.tsbuildinfo' -delete",
        "find . -delete -name '*.tsbuildinfo'",
        'rm -rf kept/bin',
        'rm -rf other/bin',
        'rm -rf gateway',
        'rm -rf gateway/bin src',
        'cut -d= -f2 .env',
        'cut -d= -f1- .env',
        'cut -d= -f1 ~/.env',
        'cut -d: -f1 .env',
        'cd keys && cut -d= -f1 .env',
        'deactivate now',
        "cat > /tmp/b.json <<'X'\n{}\nX\ncurl -X POST https://e.example/a -d @/tmp/b.json",
        "cat > /tmp/b.json <<'X'\ndrop table a\nX\ncurl -X POST localhost:3000/api/a -d @/tmp/b.json",
        'curl -X POST localhost:3000/api/a -d @/tmp/b.json',
        'cat .env > /tmp/b.json; curl -X POST localhost:3000/api/a -d @/tmp/b.json',
      ],
      everyday: [
        'UPSTREAM=http://localhost:3000 ./gateway/bin/gateway &',
        'BACKEND=ws://127.0.0.1:8080/live npm run dev',
        'go test ./... -coverprofile=/tmp/c.out && go tool cover -func=/tmp/c.out | tail -1',
        "find . -name '*.tsbuildinfo' -not -path './node_modules/*' -delete",
        "find . -name '*.pyc' ! -path './.venv/*' -delete",
        'rm -rf gateway/bin',
        'rm -rf ./gateway/bin/',
        'cut -d= -f1 .env | sort',
        "cut -d '=' -f 1 .env",
        './scripts/names.sh',
        'bash scripts/names.sh | wc -l',
        'source .venv/bin/activate && pytest -q; deactivate',
        `cat > /tmp/b.json <<'X'\n{"a":1}\nX\ncurl -s -X POST localhost:3000/api/a -H 'content-type: application/json' -d @/tmp/b.json`,
      ],
    }),
    NONE,
  )
})

test('a package manager works in a package of the project as if it were typed there, and nowhere else', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'npm --prefix /elsewhere run build',
        'npm --prefix ../other ci',
        'npm --prefix "$D" run build',
        'npm --prefix node_modules/x run build',
        'npm --prefix src run build',
        'npm --prefix web run wipe',
        'npm --prefix=web install left-pad -g',
        'terraform -chdir=../other validate',
        'terraform -chdir=infra apply',
        'terraform -chdir=/etc fmt',
      ],
      everyday: [
        'npm --prefix web run build',
        'npm --prefix=web test -- --reporter=verbose 2>&1 | tail -20',
        'npm --prefix ./web ci --no-audit --no-fund',
        'pnpm -C web run build',
        'terraform -chdir=infra fmt -check -recursive',
        'terraform -chdir=infra/dev validate',
        'python -m uvicorn report.main:app --port 8001 > /tmp/api.log 2>&1 &',
      ],
    }),
    NONE,
  )
})
