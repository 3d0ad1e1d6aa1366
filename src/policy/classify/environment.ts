import { isInside } from '../../base/is-inside.ts'
import type { Reason, Span } from '../../domain/assessment.ts'
import { isVendorVariable } from '../../domain/vendors.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { isIgnored } from '../paths/judge-path.ts'
import type { Arg } from '../shell/args.ts'
import { bindVariable, expandAssigned, expandWords } from '../shell/expand.ts'
import type { ShellScope } from '../shell/scope.ts'
import type { Assign } from '../shell/tree.ts'
import { isHost } from './address.ts'

/** Variables that make an innocent program load or run something else. */
const HIJACK: RegExp[] = [
  /^(PATH|CDPATH|FPATH|MANPATH|SHELL|ENV|BASH_ENV|ZDOTDIR|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|HISTFILE|INPUTRC|COMSPEC|PATHEXT)$/,
  /^(LD|DYLD|_RLD|LIBPATH|SHLIB)_.*|^(LIBPATH|SHLIB_PATH|GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|MALLOC_.*|QT_PLUGIN_PATH|GTK_.*PATH|GTK_MODULES|GIO_.*)$/,
  /^NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|REPL_.*|ICU_DATA|TLS_REJECT_UNAUTHORIZED)$/,
  /^(npm_config|pnpm_config|yarn|YARN|COREPACK|BUN_CONFIG|DENO)_.*$/i,
  /^PYTHON(PATH|STARTUP|HOME|INSPECT|USERBASE|BREAKPOINT|WARNINGS|EXECUTABLE|PLATLIBDIR|PYCACHEPREFIX)$/,
  /^(PIP|UV|POETRY|PIPENV|PDM|CONDA|VIRTUAL_ENV|PYTEST)_.*$/,
  /^(VIRTUAL_ENV|CONDARC|PYTEST_ADDOPTS|PYTEST_PLUGINS|TOX_.*)$/,
  /^(PERL5LIB|PERL5OPT|PERL5DB|PERLLIB|PERL_MM_OPT|PERL_UNICODE)$/,
  /^(RUBYOPT|RUBYLIB|RUBYPATH|GEM_.*|BUNDLE_.*|RAKEOPT|IRBRC)$/,
  /^(PHPRC|PHP_INI_SCAN_DIR|COMPOSER_.*|LUA_(INIT|PATH|CPATH).*|R_(PROFILE|ENVIRON|LIBS|HOME).*|JULIA_.*|GUILE_.*|EMACSLOADPATH|EMACSDATA|VIMINIT|EXINIT|GVIMINIT|MYVIMRC)$/,
  /^(JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|JAVA_HOME|CLASSPATH|MAVEN_.*|MVN_.*|GRADLE_.*|ANT_.*|SBT_.*|KOTLIN_.*|CATALINA_OPTS|M2_HOME)$/,
  /^(MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|MAKE|CC|CXX|CPP|LD|AR|AS|FC|LDFLAGS|CFLAGS|CXXFLAGS|CPPFLAGS|CMAKE_.*|NINJA_.*|COMPILER_PATH|GCC_EXEC_PREFIX|LIBRARY_PATH|C_INCLUDE_PATH|CPATH|CPLUS_INCLUDE_PATH|PKG_CONFIG.*|CCACHE_.*|SCCACHE_.*|DISTCC_.*)$/,
  /^(RUSTC|RUSTDOC|RUSTFLAGS|RUSTDOCFLAGS|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|RUSTUP_.*|CARGO_(HOME|ENCODED_RUSTFLAGS|BUILD_.*|TARGET_.*|REGISTR.*|SOURCE_.*|UNSTABLE_.*|ALIAS_.*|NET_.*|HTTP_.*))$/,
  /^(GOFLAGS|GOPATH|GOROOT|GOPROXY|GONOSUMDB|GONOSUMCHECK|GONOPROXY|GOPRIVATE|GOINSECURE|GOTOOLCHAIN|GOENV|GOBIN|GOSUMDB|CGO_.*)$/,
  /^GIT_.*$/,
  /^(EDITOR|VISUAL|PAGER|MANPAGER|BAT_PAGER|SYSTEMD_PAGER|SYSTEMD_EDITOR|PSQL_PAGER|AWS_PAGER|DELTA_PAGER|LESSOPEN|LESSCLOSE|LESSKEY.*|LESS|BROWSER|FCEDIT|SUDO_.*|SSH_ASKPASS.*|SSH_AUTH_SOCK|RSYNC_.*|CVS_RSH|SVN_SSH|HGEDITOR|HGRCPATH|TAR_OPTIONS|GZIP|ZIPOPT|UNZIPOPT|RIPGREP_CONFIG_PATH|FZF_DEFAULT_(COMMAND|OPTS)|ACK_OPTIONS|TERMINFO.*|TERMCAP)$/,
  /^(ESLINT_.*|JEST_.*_PATH|TS_NODE_.*|BABEL_.*PATH|WEBPACK_.*|DOTNET_(STARTUP_HOOKS|ROOT.*)|COMPlus_.*|CORECLR_.*|COR_.*|ELECTRON_RUN_AS_NODE|ELECTRON_.*|PLAYWRIGHT_.*_PATH|PUPPETEER_EXECUTABLE_PATH|CHROME_PATH|MOZ_.*)$/,
  /^(AWK(LIB)?PATH|GOWORK|GOMODCACHE|CHROME_BIN|SWIFT_EXEC|DEVELOPER_DIR|ERL_A?Z?FLAGS|ERL_LIBS|ELIXIR_ERL_OPTIONS|PSQLRC|PROTOC|PYTHON|JRUBY_OPTS|BAT_CONFIG_.*|NODE_REDIRECT_WARNINGS|NODE_V8_COVERAGE|NODE_COMPILE_CACHE|LLVM_PROFILE_FILE|.*_SYMBOLIZER_PATH|PRISMA_.*_(BINARY|LIBRARY)|CYPRESS_RUN_BINARY|VIMRUNTIME|JUST_.*|COVERAGE_(PROCESS_START|FILE|RCFILE)|TEXINPUTS|TEXMF.*|BIBINPUTS|TCLLIBPATH|SSLKEYLOGFILE|ESBUILD_BINARY_PATH|NAPI_RS_.*|.*_(PRELOAD|LIBRARY_PATH))$/,
  /^(ANSIBLE_.*|TF_CLI_.*|TF_CLI_ARGS.*|VAGRANT_.*|PACKER_.*|HELM_.*|KUBE_EDITOR|DOCKER_CONFIG|NIX_.*|GUIX_.*)$/,
]

const GIT_SAYS = /^GIT_(TRACE(_PERFORMANCE|_SETUP|_REFS)?|MERGE_AUTOEDIT|LFS_SKIP_SMUDGE|ADVICE|PROGRESS_DELAY)$/

/** Variables that send a program somewhere else or change what it trusts: MEDIUM, not HIGH. */
const REDIRECT =
  /^(IFS|HOME|USERPROFILE|TMPDIR|TMP|TEMP|XDG_.*|OPENSSL_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|CURL_HOME|WGETRC|KUBECONFIG|DOCKER_(HOST|CONTEXT|TLS.*|CERT.*)|CONTAINER_HOST|AWS_.*|AZURE_.*|GOOGLE_.*|GCLOUD_.*|CLOUDSDK_.*|(https?|all|ftp|no)_proxy|GREP_OPTIONS|GREP_COLORS?|POSIXLY_CORRECT|BLOCK_SIZE|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|PG(HOST|SERVICE.*|PASSFILE|SYSCONFDIR|DATABASE|USER|PORT)|MYSQL_.*|REDISCLI_.*|DATABASE_URL|DB_.*|CLAUDE.*|PCC_.*|TF_VAR_.*|TF_.*|NX_CLOUD_.*|TURBO_(TEAM(ID)?|TOKEN|API|LOGIN|REMOTE\w*)|VAULT_.*|CONSUL_.*|NOMAD_.*|GH_(DEBUG|HOST|CONFIG_DIR|ENTERPRISE\w*)|RAILS_ENV|RACK_ENV|DJANGO_SETTINGS_MODULE|FLASK_APP|SPRING_.*)$/i

/** Variables that only set language, verbosity, or one of the project's own modes. */
const HARMLESS =
  /^(NODE_ENV|BABEL_ENV|APP_ENV|CI|CONTINUOUS_INTEGRATION|DEBUG|VERBOSE|QUIET|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|COLUMNS|LINES|PORT|HOST|LOG_LEVEL|LOGLEVEL|RUST_BACKTRACE|RUST_LOG|RUST_MIN_STACK|RUST_TEST_THREADS|CARGO_(TERM_COLOR|INCREMENTAL|PROFILE_.*|TERM_.*|TARGET_DIR)|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|HASHSEED|FAULTHANDLER|ASYNCIODEBUG)|PYTEST_TIMEOUT|GO111MODULE|GOOS|GOARCH|GOMAXPROCS|CGO_ENABLED|GOTRACEBACK|JEST_JUNIT_.*|VITEST_[A-Z]+|UPDATE_SNAPSHOTS?|SEED|DRY_RUN|HUSKY|SKIP_[A-Z_]+|TEST|TESTS|TEST_[A-Z_]+|NEXT_TELEMETRY_DISABLED|DISABLE_TELEMETRY|DO_NOT_TRACK|ASTRO_TELEMETRY_DISABLED|COMPOSE_PROJECT_NAME|DOCKER_BUILDKIT|BUILDKIT_PROGRESS|MIX_ENV|DEBIAN_FRONTEND|GIT_TERMINAL_PROMPT|GIT_PAGER_IN_USE|GIT_OPTIONAL_LOCKS|OMP_NUM_THREADS|SOURCE_DATE_EPOCH|MAKELEVEL|npm_config_(yes|loglevel|fund|audit|progress|update_notifier))$/

interface Setting {
  name: string
  value: Arg | undefined
  at: Span
  /** `x=1` with no program after it: a variable of this shell, which programs see only if it was exported before. */
  alone: boolean
  /** `export x=1`: every later program sees it. */
  exported?: boolean
  /** The program that follows, if it is known. */
  of?: string | undefined
  /** The folder of the command, if it is known, and what it is judged against. */
  folder?: string | undefined
  fence?: Fence | undefined
  /** What the same command has written. */
  written?: ReadonlySet<string>
}

/** Judges what setting a variable does to the programs that see it. */
export function judgeAssignment(setting: Setting, add: (reason: Reason) => undefined): undefined {
  const { name, value, at, alone, folder } = setting
  const quoted = value?.value ?? ''
  if (/\$\(|`/.test(quoted))
    add({ code: 'env.code-text', risk: 'MEDIUM', text: `${name} is set to a text with a command in it`, at })
  if (/\(\)\s*\{/.test(quoted)) add({ code: 'env.hijack', risk: 'HIGH', text: `${name} is set to a function`, at })
  // An empty pager, or `cat`, is the usual way to switch paging off.
  if (/PAGER$/.test(name) && (quoted === '' || quoted === 'cat') && value?.known) return
  if (/^(GIT_(SEQUENCE_)?EDITOR|EDITOR|VISUAL)$/.test(name) && /^(true|:|cat)$/.test(quoted) && value?.known) return
  // Git says what it does; a path would be a file that it writes.
  if (GIT_SAYS.test(name) && /^(0|1|2|true|false|no)?$/.test(quoted) && value?.known) return
  if (/^(ASAN|LSAN|MSAN|TSAN|UBSAN)_OPTIONS$/.test(name) && /^(\w+=\d+:?)+$/.test(quoted) && value?.known) return
  if (
    /^(RAILS_ENV|RACK_ENV|ENV|FLASK_ENV|NODE_ENV|APP_ENV)$/.test(name) &&
    /^(test|dev|development|local)$/.test(quoted) &&
    value?.known
  )
    return
  const isModule =
    /^[A-Za-z]\w*(\.\w+)*(:\w+)?$/.test(quoted) && !/(^|[._])(prod|production|prd|live|staging)([._:]|$)/i.test(quoted)
  if ((name === 'FLASK_APP' || (name === 'DJANGO_SETTINGS_MODULE' && /\./.test(quoted))) && isModule && value?.known)
    return add(unlistedReason(name, at))
  if (/(^|_)(ENV|ENVIRONMENT|STAGE)$/.test(name) && (!value?.known || /^(prod\w*|live|stag\w*)$/i.test(quoted)))
    add({ code: 'env.far', risk: 'LOW', text: `${name} names an environment that others use`, at })
  const reach = alone && !setting.exported ? undefined : explainReach(setting)
  if (HARMLESS.test(name)) {
    if (reach) add({ ...reach, risk: 'MEDIUM', at })
    else if (value?.known && OUTSIDE.test(quoted)) add(oddReason(name, at))
    return
  }
  if (name === 'BUNDLE_FROZEN' && /^(true|1)$/.test(quoted) && value?.known) return
  // Where bundler keeps what the lock file names.
  if (name === 'BUNDLE_PATH' && /^(vendor\/bundle|\.bundle)$/.test(quoted) && value?.known)
    return add(unlistedReason(name, at))
  // An address on this machine belongs to the project, and so does a database in memory.
  if (/(_|^)(URL|URI|DSN)$/.test(name) && value?.known && /^sqlite3?(\+\w+)?:(\/\/)?\/?:memory:$/.test(quoted)) return
  const local = value?.known && LOCAL.test(quoted)
  if (local && /(_|^)(URL|URI|HOST|DSN|ENDPOINT|ORIGIN)$/.test(name) && !/PROXY|REGISTRY/.test(name)) return
  if (name === 'NODE_OPTIONS' && value?.known && MEMORY.test(quoted)) return add(unlistedReason(name, at))
  if (/^(CC|CXX|LD|AR|FC)$/.test(name) && value?.known && COMPILERS.test(quoted)) return add(unlistedReason(name, at))
  if (/^(RUSTFLAGS|RUSTDOCFLAGS|C(XX|PP)?FLAGS)$/.test(name) && value?.known && TUNES.test(quoted))
    return add(unlistedReason(name, at))
  if (HIJACK.some(shape => shape.test(name))) {
    const text = `${name} decides what other programs load or run`
    const isHeld = SEARCH_PATHS.test(name) && value?.known === true && staysBelow(quoted, folder)
    const isOwn = isHeld && !alone && name === 'PYTHONPATH' && holdsOwnCode(setting)
    return add({
      code: 'env.hijack',
      risk: 'HIGH',
      text,
      at,
      ...(isHeld && { held: true }),
      ...(isOwn && { own: true }),
    })
  }
  if (REDIRECT.test(name) || isVendorVariable(name))
    return add({
      code: 'env.redirect',
      risk: 'MEDIUM',
      text: `${name} changes where programs look or what they trust`,
      at,
    })
  if (reach) return add({ ...reach, risk: 'MEDIUM', at })
  if (alone) return
  if (value?.known && HERE.test(quoted) && !ODD_NAME.test(name)) return add(unlistedReason(name, at))
  if (ODD_NAME.test(name) || (value?.known && ODD_VALUE.test(quoted))) return add(oddReason(name, at))
  add(unlistedReason(name, at))
}

/** Why a variable is asked about by its value: with it the hooks of git check nothing, or a program works for others or with another machine. */
function explainReach({ name, value, of = '' }: Setting): Pick<Reason, 'code' | 'text'> | undefined {
  const quoted = value?.known ? value.value : undefined
  const [, on, exempt] = SKIPS_CHECKS.find(([variable]) => variable.test(name)) ?? []
  if (on && !exempt?.test(of) && (quoted === undefined || on.test(quoted)))
    return { code: 'git.unchecked', text: `${name} skips the checks of the project` }
  if (quoted === undefined || MODE.test(name)) return undefined
  if (OTHERS.test(quoted)) return { code: 'env.elsewhere', text: `${name} names an environment that others use` }
  if (!TEXT_NAME.test(name) && quoted.split(/[,;\s]+/).some(namesMachine))
    return { code: 'env.elsewhere', text: `${name} names another machine` }
  return undefined
}

const INSTALLERS = /^(npm|pnpm|yarn|bun|npx)$/
/** Variables that hooks of git read, the values that switch them off, and the programs before which they mean something else. */
const SKIPS_CHECKS: [name: RegExp, on: RegExp, exempt: RegExp][] = [
  [/^(HUSKY|LEFTHOOK)$/, /^(0|false|off|no)$/i, INSTALLERS],
  [/^(HUSKY_SKIP_(HOOKS|INSTALL)|OVERCOMMIT_DISABLE|LEFTHOOK_EXCLUDE|PRE_COMMIT_ALLOW_NO_CONFIG)$/, /./, INSTALLERS],
  [
    /^SKIP$/,
    /./,
    /^(pre-commit|npm|pnpm|yarn|bun|npx|pytest|python3?|node|make|just|go|cargo|tox|nox|rake|mvn|gradle|\.\/gradlew)$/,
  ],
]

/** Variables that choose how the project is built. What they mean for a database is judged with the database. */
const MODE =
  /^(NODE_ENV|BABEL_ENV|MIX_ENV|RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|VITE_MODE|BUILD_(MODE|TYPE|ENV)|CONFIGURATION|HOST|LANG|LC_\w+|TZ|TERM)$/
/** Variables whose values have dots that belong to no machine. */
const TEXT_NAME = /(^|_)(VERSION|MODULE|CLASS|PACKAGE|NAME|PATTERN|FILTER|TAGS?|FILES?|APP|TEST|TESTS|MESSAGE|TITLE)$/
const OTHERS = /^(prod|production|prd|live|staging|mainnet)$/i

/** Whether a word names another machine: `evil.example`, `db:5432`, `10.0.0.5`, with or without a scheme. */
function namesMachine(word: string): boolean {
  const [, host = ''] = /^(?:[a-z][\w+.-]*:\/\/)?(?:[^@/]*@)?(\[[^\]]*\]|[^:/]*)/i.exec(word) ?? []
  if (/^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|)$/i.test(host)) return false
  if (/^\d+(\.\d+){3}$/.test(host)) return true
  if (/^[A-Za-z][\w-]*:\d{2,5}(\/|$)/.test(word)) return true
  return /^[a-z\d]([\w-]*\.)+[a-z]{2,}$/i.test(host) && isHost(host)
}

/** Where a language looks for code. In a sandbox, code of the project may be loaded as well as run. */
const SEARCH_PATHS = /^(PYTHONPATH|NODE_PATH|RUBYLIB|PERL5LIB|CLASSPATH)$/
/** Warnings, optimisation and definitions. */
const TUNES =
  /^((-[DWAF] ?[a-z][\w:-]*|-W(all|extra|error|no-[\w-]+|shadow|pedantic)|-O[0-3sz]|-g|-std=[\w+]+|-D[A-Z]\w*(=\w+)?|-C (opt-level|debuginfo|target-cpu|debug-assertions|overflow-checks)=[\w-]+)( |$))+$/
const COMPILERS =
  /^(ccache |sccache )?(gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|ld\.lld|lld|mold|ar|gcc-ar|llvm-ar|gfortran|icx|icpx|tcc)(-\d+)?$/

/** Whether every folder of a search path is below this one. */
function staysBelow(path: string, folder: string | undefined): boolean {
  return path.split(':').every(part => {
    if (part.split('/').includes('..') || part.startsWith('~')) return false
    return !part.startsWith('/') || (folder !== undefined && isInside(part, folder))
  })
}

/**
 * Whether every folder of a search path for Python is one of the project with code that people wrote, and none that Python runs unasked: then
 * it is as powerful as running a program of the project.
 */
function holdsOwnCode({ value, folder, fence, written, of = '' }: Setting): boolean {
  if (fence?.look === undefined || folder === undefined || !RUNS_PYTHON.test(of)) return false
  return (value?.value ?? '').split(':').every(part => {
    const place = /^[\w@./-]+$/.test(part) ? locatePath(part, folder, fence) : undefined
    if (place?.where !== 'inside' || isIgnored(place.relative, fence)) return false
    const top = place.path
    return (
      !RUN_UNASKED.some(file => fence.look?.(`${top}/${file}`) !== undefined) &&
      ![...(written ?? [])].some(file => isInside(file, top))
    )
  })
}

const MAKES_FOLDER = /^"?\$\(mktemp -d( \/tmp\/[\w-]+\.?X{4,})?\)"?$/
const RUNS_PYTHON =
  /^((\.\/|[\w-]+\/)*\.?venv\/bin\/)?(python[\d.]*|pypy3?|ipython|pytest|py\.test|coverage|mypy|ruff|pylint|pyright|uvicorn|gunicorn|flask|alembic|sphinx-build)$/
const RUN_UNASKED = ['site', 'user'].flatMap(name =>
  ['.py', '.pyc', '.so', '/__init__.py'].map(end => `${name}customize${end}`),
)

const LOCAL =
  /^(sqlite|file):(\/\/)?[\w.:/-]*$|^([a-z+]+:\/\/)?([\w]+(:[\w]*)?@)?(localhost|127\.0\.0\.1|::1)(:\d+)?(\/[\w.?=&/-]*)?$/

/** An address of this machine. */
const HERE =
  /^(https?|wss?|grpc|postgres(ql)?|mysql|redis|amqp|mongodb|nats|tcp):\/\/(\w+(:\w*)?@)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/[\w./-]*)?$/

/** A path that leads out of the project, where a mode or a number is expected. */
const OUTSIDE = /^[/~]|(^|\/)\.\.(\/|$)/
/** Names whose ending says that they control what a program loads, where it looks or which server it asks. */
const ODD_NAME =
  /(_|^)(PATH|BINARY|BIN|EXEC|EXECUTABLE|OPTIONS|OPTS|FLAGS|ARGS|CONFIG|RC|HOOKS?|PLUGINS?|WRAPPER|LIBRARY|COMMAND|CMD|REGISTRY|MIRROR|PROXY|PRELOAD|LOADER|SCRIPT|INIT|STARTUP)$|RC$/
/** Values that are a path outside, a flag, a list of words with flags, an address or a command. */
const ODD_VALUE = /(^|[:=,\s])[/~]|^[-@]|(^|\/)\.\.(\/|$)|:\/\/|[;`|]|\$\(|\s-/

function oddReason(name: string, at: Span): Reason {
  return {
    code: 'env.odd',
    risk: 'MEDIUM',
    text: `${name} is set to a path or to words that a program may act on`,
    at,
  }
}

function unlistedReason(name: string, at: Span): Reason {
  return { code: 'env.unlisted', risk: 'MEDIUM', text: `${name} is not a variable the policy knows`, at }
}

/** Options of Node that set memory or warnings, and load nothing. */
const MEMORY =
  /^\s*(--(max-old-space-size=\d+|max-semi-space-size=\d+|no-warnings|no-deprecation|trace-warnings|trace-deprecation|enable-source-maps|experimental-vm-modules|stack-trace-limit=\d+|unhandled-rejections=\w+)\s*)+$/

/** A longer list is of no use to a reader, and each use of it would be as long. */
const MOST_ELEMENTS = 24

interface AssignContext {
  /** Whether no program follows, so that the shell itself keeps the value. */
  alone: boolean
  /** The program that follows the assignment. */
  of: string | undefined
  scope: ShellScope
  fence: Fence
  add: (reason: Reason) => undefined
}

/** Handles `A=1`: judges what it does to programs, and notes its value and whether it holds a secret. */
export function assign(
  { name, at, append, value: word, inner, list }: Assign,
  { alone, of, scope, fence, add }: AssignContext,
): undefined {
  const value = word && expandAssigned(word, scope)
  // `IFS= read -r line` splits that line and nothing else.
  if (name !== 'IFS' || of !== 'read')
    judgeAssignment({ name, value, at, alone, of, folder: scope.cwd, fence, written: scope.written }, add)
  if (!alone) {
    scope.given.set(name, value?.known && !append ? value.value : undefined)
    return
  }
  const isShort = list && inner.length <= MOST_ELEMENTS
  const elements = isShort && !append && !scope.unknown.has(name) ? expandWords(inner, scope) : []
  if (
    elements.length > 0 &&
    elements.length <= MOST_ELEMENTS &&
    elements.every(arg => arg.known && !arg.glob && arg.secret === undefined)
  ) {
    const values = elements.map(arg => arg.value)
    scope.values.set(name, { value: values[0] ?? '', glob: false, list: values })
    return
  }
  if (word && /^"?\$!"?$/.test(word.text) && !scope.several.has(name)) scope.jobs.add(name)
  // A folder that is made for now, whose name does not matter.
  const isMade =
    word &&
    MAKES_FOLDER.test(word.text) &&
    !scope.several.has(name) &&
    !scope.defined.has('mktemp') &&
    fence.look !== undefined
  if (isMade) scope.made.add(`/tmp/mktemp.${name}`)
  bindVariable(
    name,
    append ? undefined : isMade && value ? { ...value, value: `/tmp/mktemp.${name}`, known: true } : value,
    scope,
  )
  const words = value ? [value] : expandWords(inner, scope)
  if (words.some(arg => arg.secret !== undefined)) scope.secrets.add(name)
}
