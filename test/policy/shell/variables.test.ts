import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'

const classifier = openClassifier({ realPath: path => path })

function said(command: string): string {
  const request = { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }
  const { reasons } = classifier.classify(request) as Assessment
  return reasons.map(({ risk, code }) => `${risk} ${code}`).join(', ')
}

/** Variables by the reason that each gives before a program. */
const NAMES: Record<string, string> = {
  'HIGH env.hijack': `
    ACK_OPTIONS AR AS AWS_PAGER BASHOPTS BASH_ENV BAT_PAGER BIBINPUTS BROWSER CATALINA_OPTS CC CDPATH CFLAGS
    CHROME_BIN CHROME_PATH CLASSPATH COMPILER_PATH COMSPEC CONDARC CPATH CPLUS_INCLUDE_PATH CPP CPPFLAGS CVS_RSH
    CXX CXXFLAGS CYPRESS_RUN_BINARY C_INCLUDE_PATH DELTA_PAGER DEVELOPER_DIR DOCKER_CONFIG EDITOR
    ELIXIR_ERL_OPTIONS EMACSDATA EMACSLOADPATH ENV ERL_LIBS ESBUILD_BINARY_PATH EXINIT FC FCEDIT FPATH
    GCC_EXEC_PREFIX GCONV_PATH GLIBC_TUNABLES GNUMAKEFLAGS GOBIN GOENV GOFLAGS GOINSECURE GOMODCACHE GONOPROXY
    GONOSUMCHECK GONOSUMDB GOPATH GOPRIVATE GOPROXY GOROOT GOSUMDB GOTOOLCHAIN GOWORK GTK_MODULES GVIMINIT GZIP
    HGEDITOR HGRCPATH HISTFILE INPUTRC IRBRC JAVA_HOME JAVA_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS JRUBY_OPTS
    KUBE_EDITOR LD LDFLAGS LESS LESSCLOSE LESSOPEN LIBPATH LIBRARY_PATH LLVM_PROFILE_FILE LOCPATH M2_HOME MAKE
    MAKEFILES MAKEFLAGS MANPAGER MANPATH MFLAGS MYVIMRC NLSPATH NODE_COMPILE_CACHE NODE_OPTIONS
    NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE PAGER PATH PATHEXT PERL5DB PERL5LIB PERL5OPT PERLLIB PERL_MM_OPT
    PERL_UNICODE PHPRC PHP_INI_SCAN_DIR PROMPT_COMMAND PROTOC PSQLRC PSQL_PAGER PUPPETEER_EXECUTABLE_PATH PYTHON
    QT_PLUGIN_PATH RAKEOPT RIPGREP_CONFIG_PATH RUBYLIB RUBYOPT RUBYPATH RUSTC RUSTC_WORKSPACE_WRAPPER
    RUSTC_WRAPPER RUSTDOC RUSTDOCFLAGS RUSTFLAGS SHELL SHELLOPTS SSH_AUTH_SOCK SSLKEYLOGFILE SVN_SSH SWIFT_EXEC
    SYSTEMD_EDITOR SYSTEMD_PAGER TAR_OPTIONS TCLLIBPATH TERMCAP TEXINPUTS UNZIPOPT VIMINIT VIMRUNTIME VIRTUAL_ENV
    VISUAL ZDOTDIR ZIPOPT _JAVA_OPTIONS`,
  'MEDIUM env.redirect': `
    BLOCK_SIZE CONTAINER_HOST CURL_CA_BUNDLE CURL_HOME DATABASE_URL DJANGO_SETTINGS_MODULE GREP_OPTIONS
    HOME HOSTALIASES IFS KUBECONFIG LOCALDOMAIN POSIXLY_CORRECT RACK_ENV RAILS_ENV REQUESTS_CA_BUNDLE RES_OPTIONS
    TEMP TMP TMPDIR USERPROFILE WGETRC`,
  '': `
    APP_ENV ASTRO_TELEMETRY_DISABLED BABEL_ENV BUILDKIT_PROGRESS CGO_ENABLED CI COLORTERM COLUMNS
    COMPOSE_PROJECT_NAME CONTINUOUS_INTEGRATION DEBIAN_FRONTEND DEBUG DISABLE_TELEMETRY DOCKER_BUILDKIT
    DO_NOT_TRACK DRY_RUN FORCE_COLOR GIT_OPTIONAL_LOCKS GIT_PAGER_IN_USE GIT_TERMINAL_PROMPT GO111MODULE GOARCH
    GOMAXPROCS GOOS GOTRACEBACK HOST HUSKY LANG LANGUAGE LINES LOGLEVEL LOG_LEVEL MAKELEVEL MIX_ENV
    NEXT_TELEMETRY_DISABLED NODE_ENV NO_COLOR OMP_NUM_THREADS PORT PYTEST_TIMEOUT QUIET RUST_BACKTRACE RUST_LOG
    RUST_MIN_STACK RUST_TEST_THREADS SEED SOURCE_DATE_EPOCH TERM TEST TESTS TZ VERBOSE`,
}

for (const [expected, names] of Object.entries(NAMES)) {
  test(`a variable that is ${expected || 'harmless'} is so by its whole name`, () => {
    for (const name of names.trim().split(/\s+/)) {
      assert.equal(said(`${name}=a ls`), expected, name)
      assert.notEqual(said(`X${name}=a ls`), expected, `X${name}`)
      assert.notEqual(said(`${name}X=a ls`), expected, `${name}X`)
    }
  })
}

test('families of variables are known by their beginning', () => {
  const families: [string, string[]][] = [
    [
      'HIGH env.hijack',
      [
        'LD_PRELOAD',
        'DYLD_INSERT_LIBRARIES',
        'GIT_SSH_COMMAND',
        'npm_config_registry',
        'NPM_CONFIG_PREFIX',
        'PIP_INDEX_URL',
        'BUNDLE_PATH',
        'GEM_HOME',
        'CMAKE_PREFIX_PATH',
        'CARGO_HOME',
        'CARGO_TARGET_X_RUNNER',
        'RUSTUP_TOOLCHAIN',
        'CGO_CFLAGS',
        'MAVEN_OPTS',
        'GRADLE_OPTS',
        'ANSIBLE_CONFIG',
        'TF_CLI_ARGS_plan',
        'NIX_PATH',
        'LESSKEYIN',
        'PYTHONPATH',
        'PYTHONSTARTUP',
        'PS4',
        'BASH_FUNC_x',
      ],
    ],
    [
      'MEDIUM env.redirect',
      [
        'AWS_PROFILE',
        'GOOGLE_APPLICATION_CREDENTIALS',
        'XDG_CONFIG_HOME',
        'https_proxy',
        'HTTP_PROXY',
        'PGHOST',
        'MYSQL_HOST',
        'ANTHROPIC_BASE_URL',
        'PCC_HOME',
        'DOCKER_HOST',
        'VAULT_ADDR',
      ],
    ],
    [
      '',
      [
        'LC_ALL',
        'VITEST_POOL',
        'SKIP_TESTS',
        'CARGO_TERM_COLOR',
        'PYTHONUNBUFFERED',
        'CLICOLOR',
        'CLICOLOR_FORCE',
        'UPDATE_SNAPSHOT',
        'TEST_FILTER',
      ],
    ],
  ]
  for (const [expected, names] of families) for (const name of names) assert.equal(said(`${name}=a ls`), expected, name)
})

test('a pager that is switched off is none, and a text that runs when it is read is told', () => {
  for (const value of ['', 'cat']) assert.equal(said(`PAGER=${value} git log`), said('git log'), value)
  assert.match(said('PAGER=less ls'), /HIGH env\.hijack/)
  assert.match(said("X='$(rm x)' ls"), /env\.code-text/)
  assert.match(said("X='`rm x`' ls"), /env\.code-text/)
  assert.match(said("X='() { rm x; }' ls"), /HIGH env\.hijack/)
})

test('FLASK_APP may name a module of the project, and a path is asked about', () => {
  assert.equal(said('FLASK_APP=shop.app ls'), 'MEDIUM env.unlisted')
  for (const value of ['/tmp/x.py', '../x.py', '$APP'])
    assert.match(said(`FLASK_APP=${value} ls`), /env.redirect/, value)
})
