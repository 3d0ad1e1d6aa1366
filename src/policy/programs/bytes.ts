import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import type { Arg } from '../shell/args.ts'
import { named, reader } from './rule-builders.ts'

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
