// node names.mjs COUNTRIES.csv prints the country names of every language of CLDR as JSON: for each list of names the
// languages that have it and its [code, name] pairs in the languages' own order. flight/places/data/README.md says what
// is chosen. The order is worked out here, once, because ICU knows it better than what Go has for it.
import { readFileSync, readdirSync, existsSync } from 'node:fs'

const codes = readFileSync(process.argv[2], 'utf8').trim().split('\n').slice(1).map(line => line.split(',')[0])
const main = new URL('node_modules/cldr-localenames-full/main/', import.meta.url)
const short = ['HK', 'MM', 'MO', 'PS'] // their short forms are the plain names

if (Intl.Collator.supportedLocalesOf(['nb', 'ja', 'uz']).length < 3) {
  console.error('names.mjs: this Node.js knows no languages (it is built without full ICU)')
  process.exit(1)
}

// names returns what a language calls the countries. A name that is only the code is none.
function names(language) {
  const file = new URL(`${language}/territories.json`, main)
  if (!existsSync(file)) return {}
  const all = JSON.parse(readFileSync(file, 'utf8')).main[language].localeDisplayNames.territories
  const own = {}
  for (const code of codes) {
    const name = (short.includes(code) && all[`${code}-alt-short`]) || all[code]
    if (name && name !== code) own[code] = name
  }
  return own
}

const english = names('en')
const lists = new Map() // by content: many regions differ in nothing
const languages = readdirSync(main).filter(l => l !== 'en' && !l.includes('POSIX')).sort()
for (const language of ['en', ...languages]) {
  const own = names(language)
  if (Object.keys(own).length * 2 < codes.length) continue // more of it would be English than not
  const collator = new Intl.Collator([language, 'en']) // where ICU does not know a language: the root's order, as in English
  const list = codes.map(code => [code, own[code] ?? english[code]])
  list.sort((a, b) => collator.compare(a[1], b[1]) || (a[0] < b[0] ? -1 : 1))
  const content = JSON.stringify(list)
  if (!lists.has(content)) lists.set(content, { languages: [], names: list })
  lists.get(content).languages.push(language)
}
process.stdout.write(JSON.stringify([...lists.values()]))
