import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { CHECK_FILE } from '../classify/weaker-checks.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, findFlag } from '../shell/args.ts'
import { isSecretVariable } from '../shell/expand.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeReader, named, type ReaderRow, reader } from './rule-builders.ts'
import { judgeInline, judgeScriptFile } from './run-code.ts'

const JQ: ReaderRow = {
  operands: 'pattern-first',
  patternFlags: 'f from-file',
  harmless: `-cCMSaehnjrRsgV0 --null-input --raw-input --slurp --compact-output --raw-output --raw-output0 --join-output
    --ascii-output --sort-keys --color-output --monochrome-output --tab --unbuffered --stream --stream-errors --seq
    --exit-status --indent: --arg:: --argjson:: --args --jsonargs --binary --build-configuration`,
  reads: '-f: --from-file: --slurpfile:: --rawfile:: --argfile::',
  runs: '-L: --library-path:',
}
const JQ_FLAGS = flagTable(JQ)

const YQ: ReaderRow = {
  operands: 'pattern-first',
  harmless: `-cCMNSPrRjenvVxyYtT0 -I: -o: -p: --colors --no-colors --no-doc --prettyPrint --unwrapScalar? --indent:
    --output-format: --input-format: --null-input --exit-status --raw-output --compact-output --slurp --join-output
    --tojson --yaml-output --xml-output --sort-keys --arg:: --argjson:: --front-matter: --header-preprocess? --string-interpolation?
    --security-disable-env-ops --security-disable-file-ops --yaml-fix-merge-anchor-to-spec --verbose`,
  reads: '--slurpfile:: --rawfile::',
  writes: '-s: --split-exp: --split-exp-file:',
  runs: '-L: --library-path: --from-file: --security-enable-system-operator',
}
const YQ_FLAGS = flagTable({ ...YQ, harmless: `${YQ.harmless} -i --inplace --in-place` })

/** Programs that extract values from JSON, YAML, HTML and tables, some with a language of their own. */
export const DATA: ProgramRules = {
  ...named('jq gojq jaq', call => {
    const seen = scanFlags(call.args, JQ_FLAGS)
    judgeReader(call, JQ, seen)
    for (const { name, value } of seen.flags) {
      if (/^(f|from-file)$/.test(name)) judgeProgram(call, seen.operands[0], value)
      if (/^arg/.test(name) && value && !value.known) call.unknown(value)
    }
    const [filter] = seen.operands
    if (filter && !seen.flags.some(flag => flag.name === 'f' || flag.name === 'from-file')) judgeFilter(call, filter)
  }),
  ...named('yq', call => {
    const seen = scanFlags(call.args, YQ_FLAGS)
    const inPlace = seen.flags.find(flag => /^i(nplace|n-place)?$/.test(flag.name))
    const empties = inPlace && call.args.find(({ value }) => EMPTIES.test(value))
    if (empties) call.say('file.delete', 'HIGH', `${empties.text} leaves nothing of the file`, empties)
    if (inPlace) call.say('write.in-place', 'MEDIUM', `${inPlace.arg.text} changes the file`, inPlace.arg)
    judgeReader(call, YQ, seen)
    // A single word is a file if there is one of that name.
    if (seen.operands.length === 1) for (const arg of seen.operands) call.secret(arg)
    for (const arg of seen.operands) judgeYaml(call, arg)
    for (const arg of inPlace ? seen.operands.slice(1) : []) {
      call.path(arg, 'write')
      if (CHECK_FILE.test(arg.value)) call.change(arg, () => ({ after: undefined }))
    }
  }),
  gron: call => {
    const address = call.args.find(arg => /:\/\//.test(arg.value))
    if (address) call.say('net.get', 'MEDIUM', `${address.text} is fetched`, address)
    GRON(call)
  },
  jless: reader({ harmless: '-n -m: --mode: --yaml --json --scrolloff:' }),
  // A word that is neither a flag nor a file is a JavaScript function.
  fx: call => {
    const texts = call.feed.piped || call.feed.text || call.feed.file ? call.args : call.args.slice(1)
    for (const arg of texts) if (!/^[.\w[\]]+$/.test(arg.value)) judgeInline(call, arg)
    if (call.args.length > 0) call.say('code.plain', 'MEDIUM', 'fx computes with a program text')
    for (const arg of call.args) call.secret(arg)
  },
  // It runs a command that is given instead of a parser.
  jc: call => {
    const command = call.args.findIndex(arg => !arg.value.startsWith('-'))
    if (command >= 0) return call.run(call.args.slice(command))
    call.say('tool.other', 'MEDIUM', 'jc turns what it is fed into JSON')
  },
  ...named(
    'htmlq pup',
    reader({
      operands: 'text',
      harmless:
        '-bBcilnpPtw -a: -r: --attribute: --base: --detect-base --ignore-whitespace --pretty --text --remove-nodes: --color --plain --charset: --indent: --limit: --pre --number',
      reads: '-f: --file: --filename:',
      writes: '-o: --output:',
    }),
  ),
  // Its language can run commands and write files.
  mlr: call => {
    const line = call.args.map(arg => arg.value).join(' ')
    if (
      /\b(system|exec)\s*\(|\b(tee|emit\w*|print\w*|dump)\b[^;]*[>|]|\bENV\b|(^| )(tee|split|case) |--(prepipe\w*|m?load|ofmt-file)\b|(^| )-s /.test(
        line,
      )
    )
      return call.say('code.alarming', 'HIGH', 'the Miller program runs commands or writes files')
    call.say('tool.other', 'MEDIUM', 'mlr runs a program text of its own')
    const inPlace = call.args.some(arg => /^-[a-zA-Z]*I/.test(arg.value))
    if (inPlace) call.say('write.in-place', 'MEDIUM', 'mlr -I changes files')
    const script = call.args.find((_, index) => call.args[index - 1]?.value === '-f')
    if (script) judgeScriptFile(call, script)
    for (const arg of call.args) {
      call.secret(arg)
      if (inPlace && /[./]/.test(arg.value)) call.path(arg, 'write')
    }
  },
  ...named('xsv qsv', call => {
    const verb = call.args.find(arg => !arg.value.startsWith('-'))
    if (
      verb &&
      !/^(cat|count|fmt|flatten|frequency|headers|join|sample|search|select|slice|sort|stats|table)$/.test(verb.value)
    )
      call.say('code.inline', 'MEDIUM', `${call.name} ${verb.text} runs code or writes files`, verb)
    XSV(call)
  }),
  ...named(
    'csvcut csvgrep csvstat csvsort csvjson csvformat csvclean csvstack',
    reader({
      harmless:
        '-lHKnNvxiSIraU -c: -C: -d: -e: -q: -m: -g: -D: -Q: -p: --columns: --not-columns: --delimiter: --encoding: --names --no-header-row --match: --regex: --invert-match --reverse --count --mean --max --min --sum --unique --type --freq --linenumbers --zero --indent: --stream',
      reads: '-f: --file:',
    }),
  ),
  csvsql: call => {
    call.say('db.change', 'MEDIUM', 'csvsql may write tables into a database')
    for (const arg of call.args) call.secret(arg)
  },
  dasel: call => {
    const changes = call.args.find(arg => /^(put|delete)$/.test(arg.value))
    if (changes) call.say('write.in-place', 'MEDIUM', `dasel ${changes.text} changes the file`, changes)
    const file = changes && findFlag(call.args, ['-f', '--file'], 'frwpstvo')
    if (file?.value) call.path(file.value, 'write')
    DASEL(call)
  },
  xmllint: reader({
    harmless: `--noout --format --xpath: --nonet --html --xmlout --recover --pretty: --c14n --c14n11 --exc-c14n --encode:
      --compress --noblanks --nocdata --nowarning --pedantic --timing --repeat --stream --copy --auto --debug --huge --quiet`,
    // Entities, DTDs and inclusions load files and addresses that the document names.
    asks: `--noent --loaddtd --dtdattr --xinclude --noxincludenode --valid --postvalid --dtdvalid: --dtdvalidfpi: --schema:
      --relaxng: --schematron: --path: --memory --push --insert --nodefdtd --walker --pattern:`,
    writes: '-o: --output:',
    runs: '--shell --load-trace --catalogs --nocatalogs',
  }),
  jsonlint: reader({
    harmless: '-csqpSV -t: --compact --sort-keys --quiet --pretty-print --indent: --environment:',
    reads: '--validate:',
    writes: '-i --in-place',
  }),
}

const GRON = reader({
  harmless: '-ucmsjkv --ungron --colorize --monochrome --stream --json --values --no-sort --insecure',
})
const XSV = reader({
  harmless:
    '-inaurRvNCh -d: -s: -j: -c: -e: -l: --no-headers --delimiter: --select: --ignore-case --invert-match --numeric --reverse --start: --end: --len: --index: --limit: --everything --cardinality --median --mode --nulls --left --right --full --rows',
  writes: '-o: --output:',
})
const DASEL = reader({
  operands: 'text',
  harmless:
    '-mnc -r: -w: -p: -s: -t: -v: --read: --write: --parser: --selector: --pretty? --compact --colour --null --length --multiple',
  reads: '-f: --file:',
  writes: '-o: --out:',
})

/** jq's filter is the file after `-f`, or the first operand. A filter from outside is foreign code, if in a harmless language. */
function judgeProgram(call: ProgramCall, first: Arg | undefined, value: Arg | undefined): undefined {
  for (const file of [first, value])
    if (file && /^([/~]|.*\.\.(\/|$))/.test(file.value) && !isInside(file.value, call.fence.boundary))
      return call.say('script.foreign', 'HIGH', `${file.text} is a filter outside the project`, file)
  // jq takes the filter from the value, or from the first operand if `-f` is one letter of a cluster.
  const file = value ?? first
  const text = file && readFilter(call, file)
  if (text !== undefined && file) judgeFilter(call, { ...file, value: text.replace(/#.*$/gm, '') })
  else call.say('read.indirect', 'MEDIUM', 'a filter that cannot be read may show the environment or other files', file)
}

function readFilter({ scope, fence }: ProgramCall, file: Arg): string | undefined {
  if (!file.known || file.glob || scope.cwd === undefined) return undefined
  const place = locatePath(file.value, scope.cwd, fence)
  const found = place.where === 'inside' ? fence.look?.(place.path) : undefined
  return found?.is === 'file' ? found.bytes.toString('utf8') : undefined
}

/** A filter can show the environment and load modules. `.env` is a field like any other. */
function judgeFilter(call: ProgramCall, filter: Arg): undefined {
  if (!filter.known) return call.say('arg.unknown', 'MEDIUM', 'part of the filter is known only when it runs', filter)
  // In a string `\\(…)` is code again.
  const bare = filter.value.includes('\\(') ? filter.value : filter.value.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  const shown = /\$ENV\b(?:\.(\w+))?|(?<![.\w$"@])env\b(?!\s*:)(?:\.(\w+))?/.exec(bare)
  if (shown) {
    const name = shown[1] ?? shown[2]
    call.say(
      'env.print',
      name !== undefined && isSecretVariable(name) ? 'HIGH' : 'MEDIUM',
      'the filter shows the environment',
      filter,
    )
  }
  if (/(^|[\s;])(import|include)\b/.test(bare)) call.say('flag.unusual', 'MEDIUM', 'the filter reads a module', filter)
}

/** yq can read other files and variables, and newer versions can run programs. */
function judgeYaml(call: ProgramCall, expression: Arg): undefined {
  if (/\bsystem\s*\(/.test(expression.value))
    return call.say('code.alarming', 'HIGH', 'the expression runs a command', expression)
  const file = /\bload\w*\(\s*"([^"]*)"/.exec(expression.value)?.[1]
  if (file !== undefined) call.path({ ...expression, value: file }, 'read')
  if (/\b(load\w*|env|strenv)\s*\(|\benvsubst\b/.test(expression.value))
    call.say('flag.unusual', 'MEDIUM', 'the expression reads another file or the environment', expression)
}

/** A program text after which nothing is left. */
const EMPTIES = /^\s*(del\(\s*\.(\[\])?\s*\)|\.(\[\])?\s*\|?=\s*(null|\{\}|\[\]|""|empty)|null|empty|\{\}|\[\]|"")\s*$/

const BINUTILS = reader({
  harmless: `-aAbBcCdDefFgGhiIlLnNopPrRsStTuUvVwWxXyzZ -j: -n: -m: -M: --all --all-headers --archive-headers --demangle?
    --no-demangle --disassemble? --disassemble-all --source --full-contents --headers --file-headers --section-headers
    --sections --segments --program-headers --symbols --syms --dyn-syms --dynamic --dynamic-syms --dynamic-reloc --relocs
    --notes --version-info --arch-specific --unwind --section: --line-numbers --no-show-raw-insn --no-addresses --reloc
    --start-address: --stop-address: --wide --use-dynamic --hex-dump: --string-dump: --debug-syms --extern-only
    --defined-only --undefined-only --no-sort --numeric-sort --reverse-sort --size-sort --print-size --print-file-name
    --print-armap --radix: --format: --common --totals --bytes: --encoding: --print-file-name --include-all-whitespace
    --data --special-syms --with-symbol-versions --weaknesses --quiet --debugging --inlines --visualize-jumps? --private-headers`,
  asks: '--dwarf? --debug-dump? --target: --architecture: --disassembler-options: --output-separator:',
  runs: '--plugin: --ifunc-chars:',
})

const XXD = reader({
  words: true,
  harmless: `-a -autoskip -b -bits -C -capitalize -c: -cols: -d -E -EBCDIC -e -g: -groupsize: -i -include -l: -len: -n: -name:
    -o: -p -ps -plain -postscript -r -revert -R: -s: -seek: -skip: -u -uppercase -v`,
  writesFrom: 1,
})

const BASE64 = reader({
  harmless: `-dDu -w: -b: --decode --ignore-garbage --wrap: --break: --breaks: --base64 --base64url --base32 --base32hex
    --base16 --base2msbf --base2lsbf --z85 --base58`,
  reads: '-i --input:',
  writes: '-o: --output:',
})

const DIGEST = reader({
  words: true,
  harmless: `-md5 -sha1 -sha224 -sha256 -sha384 -sha512 -sha3-256 -sha3-512 -blake2b512 -blake2s256 -hex -binary -r -c -a -b -o
    -v -d -hmac: -base64 -list -commands -digest-algorithms -cipher-algorithms -public-key-algorithms -s -tls1_2 -tls1_3
    -generate -bits: -checks: -safe -xoflen: -p -f -V -m -e`,
  asks: '-keyform: -passin: -macopt: -mac: -sigopt: -prverify: -verify: -signature:',
  reads: '-sign: -in: -rand:',
  writes: '-out: -writerand:',
  runs: '-engine: -provider: -provider-path: -propquery: -config: -engine_impl',
})

/** Programs that show bytes, or the content of binaries and pictures. */
export const BYTES: ProgramRules = {
  od: reader({
    harmless: `-abcdDefFhHiIlLoOsvxX -A: -j: -N: -S? -t: -w? --address-radix: --endian: --skip-bytes: --read-bytes: --strings?
      --format: --output-duplicates --width? --traditional`,
  }),
  ...named(
    'hexdump hd',
    reader({
      harmless: '-bcCdovxX -e: -n: -s: -L? --canonical --no-squeezing --length: --skip: --color?',
      reads: '-f: --format-file:',
    }),
  ),
  ...named('strings nm objdump readelf size otool', call => {
    const more = call.args.find(arg => arg.value.startsWith('@'))
    if (more) call.say('flag.unusual', 'MEDIUM', `${more.text} is a file with more flags`, more)
    BINUTILS(call)
  }),
  mdls: reader({ harmless: '-r -n: -name: -raw --name:' }),
  file: reader({
    harmless: `-bdEhiIkLnNrsv0 -e: -F: --brief --mime --mime-type --mime-encoding --extension --apple --keep-going
      --dereference --no-dereference --no-pad --no-buffer --raw --special-files --print0 --separator: --exclude: --exclude-quiet:
      --list --debug`,
    // Other programs unpack compressed files for it.
    asks: '-z -Z -S -p -P: --uncompress --uncompress-noreport --no-sandbox --preserve-date --parameter:',
    reads: '-f: --files-from: -m: --magic-file:',
    writes: '-C --compile',
    runs: '-c --checking-printout',
  }),
  ldd: call => {
    for (const arg of call.args) if (!arg.value.startsWith('-')) judgeLoaded(call, arg)
    LDD(call)
  },
  xxd: call => {
    XXD(call)
    if (call.args.some(arg => /^-[a-z]*r/.test(arg.value)))
      call.say('obfuscation.decode', 'MEDIUM', 'xxd -r turns text into bytes')
  },
  ...named('base64 gbase64 base32 basenc base58', call => {
    BASE64(call)
    if (call.args.some(arg => /^(-[a-zA-Z]*[dD]|--d[a-z]*)$/.test(arg.value)))
      call.say('obfuscation.decode', 'MEDIUM', 'it decodes a text')
  }),
  // By a prefix, its files may be lists, addresses or programs of its own.
  identify: call => {
    const odd = call.args.find(arg =>
      /^[@|]|^[a-z]+:|^-(write|debug|define|set|read-mask|script)$|\.(msl|mvg|svg|ps|eps|pdf)$/i.test(arg.value),
    )
    if (odd) call.say('flag.runs', 'HIGH', `${odd.text} makes identify read or run more`, odd)
    call.say('tool.other', 'MEDIUM', 'identify reads pictures with the help of other programs')
    for (const arg of call.args) if (!arg.value.startsWith('-')) call.path(arg, 'read')
  },
  ...named('mediainfo', reader({ harmless: '-f --full --Full' })),
  openssl: call => {
    const [verb, ...rest] = call.args
    if (verb && /^(version|dgst|list|ciphers|rand|prime|sha256|sha1|md5)$/.test(verb.value))
      return DIGEST({ ...call, args: rest })
    if (verb && /^(x509|crl)$/.test(verb.value) && rest.every(showsCertificate)) return
    if (verb && /^(s_client|s_server|s_time)$/.test(verb.value))
      call.say('net.raw', verb.value === 's_server' ? 'HIGH' : 'MEDIUM', 'openssl opens a connection', verb)
    else call.say('crypto', 'MEDIUM', 'openssl handles keys, certificates or encrypted data')
    for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^(file|pass):/, '') })
    const writes = call.args.find(arg =>
      /^--?(out|keyout|writerand|CAserial|outdir|sess_out|keylogfile|msgfile)/.test(arg.value),
    )
    if (writes) call.say('write.flag', 'HIGH', `${writes.text} makes openssl write a file`, writes)
    const loads = call.args.find(arg => /^--?(engine|provider|config|provider-path)$/.test(arg.value))
    if (loads) call.say('flag.runs', 'HIGH', `${loads.text} makes openssl load code`, loads)
  },
}

/** Words with which openssl prints what a certificate says. It prints no key, whatever is in the file. */
function showsCertificate({ known, value }: Arg, at: number, words: readonly Arg[]): boolean {
  if (!known || /key|:|^[/~]|\.\.\//i.test(value)) return false
  if (words[at - 1]?.value === '-in') return !value.startsWith('-')
  if (/^-(checkend|inform|nameopt|certopt|ext)$/.test(words[at - 1]?.value ?? '')) return /^[\w,]+$/.test(value)
  return /^-(in|noout|text|dates|startdate|enddate|subject|issuer|serial|fingerprint|sha(1|256)|email|hash|purpose|ocsp_uri|checkend|inform|nameopt|certopt|ext|lastupdate|nextupdate)$/.test(
    value,
  )
}

const LDD = reader({ operands: 'text', harmless: '-vudr --verbose --unused --data-relocs --function-relocs' })

/** ldd may start the program that it examines, to see what the loader does with it. */
function judgeLoaded(call: ProgramCall, arg: Arg): undefined {
  if (!arg.known) return call.say('script.unknown', 'HIGH', `${arg.text} may run, and is known only then`, arg)
  if (/^\/(usr|lib|lib64|bin|sbin)\//.test(arg.value) && !arg.value.includes('..')) return
  const { cwd } = call.scope
  const place = cwd === undefined ? undefined : locatePath(arg.value, cwd, call.fence)
  if (place?.where === 'inside') call.say('script.project', 'MEDIUM', `ldd may start ${arg.text}`, arg)
  else call.say('script.foreign', 'HIGH', `ldd may start ${arg.text}, which is outside the project`, arg)
}

/** Whether a statement calls a function that is not known to compute: `select pg_promote()` changes the server, `select wipe()` anything. */
export function callsMore(text: string): boolean {
  if (!/^\s*\(?\s*(select|with|explain|values|table|show|describe|desc)\b/i.test(text)) return false
  const bare = text.replace(/'(?:[^']|'')*'/g, "''")
  const defined = new Set(
    [...bare.matchAll(/\b(?:with|recursive|,)\s+(\w+)\s*\([^()]*\)\s+as\b/gi)].map(([, name]) => name),
  )
  return [...bare.matchAll(/(?<![\w.$])([\w.$]+)"?\s*\(/g)].some(
    ([, name = '']) => !PLAIN_FUNCTION.test(name) && !defined.has(name),
  )
}

/** Words before a bracket in SQL: keywords, and functions that compute from their arguments or describe the database. */
const PLAIN_FUNCTION =
  /^(select|from|where|and|or|not|in|exists|any|some|all|as|over|filter|on|using|join|lateral|values|by|having|union|except|intersect|when|then|else|case|between|like|ilike|limit|offset|distinct|explain|within|group|order|partition|row|rows|array|materialized|with|is|analyze|verbose|costs|buffers|format|count|sum|min|max|avg|total|median|mode|stddev\w*|var(iance|_pop|_samp)|corr|every|bool_(and|or)|now|coalesce|nullif|ifnull|iif|if|isnull|greatest|least|cast|convert|try_cast|abs|ceil|ceiling|floor|round|trunc|mod|power|sqrt|exp|ln|log|log10|sign|random|rand|lower|upper|initcap|length|len|char_length|octet_length|bit_length|substr|substring|substring_index|left|right|trim|ltrim|rtrim|btrim|lpad|rpad|replace|reverse|repeat|concat|concat_ws|group_concat|string_agg|listagg|array_\w+|unnest|cardinality|split_part|regexp_(matches|replace|match|like|substr|split_to_array|split_to_table)|position|strpos|instr|locate|format|md5|sha1|sha2|sha256|hex|encode|decode|to_(char|date|timestamp|number|json|jsonb|hex)|date|time|datetime|julianday|strftime|unixepoch|unix_timestamp|from_unixtime|date_(trunc|part|format|add|sub|diff|bin)|datediff|timestampdiff|timestampadd|datepart|extract|age|year|month|day|hour|minute|second|week|weekday|make_(date|interval|timestamp)|curdate|curtime|current_(date|time|timestamp|user|schema|schemas|database|setting)|json_\w+|jsonb_\w+|json|jsonb|row_to_json|row_number|rank|dense_rank|ntile|lag|lead|first_value|last_value|nth_value|percent_rank|cume_dist|percentile_(cont|disc)|generate_series|version|database|schema|user|pg_(size_pretty|relation_size|total_relation_size|table_size|indexes_size|database_size|get_(indexdef|constraintdef|viewdef|functiondef|expr)|stat_get_\w+|typeof|postmaster_start_time|is_in_recovery|encoding_to_char|table_is_visible|column_size|backend_pid)|obj_description|col_description|format_type|to_regclass|sqlite_version|typeof|printf|quote|glob|changes|last_insert_rowid|inet|host|uuid|gen_random_uuid|uuid_generate_v4|tsvector|to_ts(vector|query)|plainto_tsquery|ts_rank\w*|similarity|st_(distance|area|length|within|contains|intersects|astext|asgeojson|x|y|makepoint|setsrid|transform|buffer)|countif|uniq\w*|quantile\w*|tostring|toint\w*|todate\w*|tostartof\w+|argmax|argmin|any_value|approx_\w+|struct|list|map|pragma_table_info|numeric|decimal|varchar|char|int|integer|bigint|float|double|text)$/i
