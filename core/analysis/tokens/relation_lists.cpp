#include "core/analysis/tokens/relation_lists.h"

#include <array>
#include <sstream>

namespace headwise {

namespace {

struct WrittenRelation {
    const char* name;
    const char* words; // source target source target …
};

constexpr std::array<WrittenRelation, 16> writtenRelations{
    {
        {"country → capital",
         "France Paris Germany Berlin Italy Rome Spain Madrid England London Russia Moscow China Beijing Japan Tokyo Egypt Cairo Greece Athens Iraq Baghdad Iran Tehran Syria Damascus Turkey Ankara Ukraine Kiev "
         "Austria Vienna Belgium Brussels Poland Warsaw Hungary Budapest Sweden Stockholm Norway Oslo Denmark Copenhagen Ireland Dublin Canada Ottawa Israel Jerusalem Lebanon Beirut Kenya Nairobi Afghanistan "
         "Kabul Thailand Bangkok Korea Seoul Cuba Havana Libya Tripoli Scotland Edinburgh Portugal Lisbon India Delhi "
         "Taiwan Taipei Serbia Belgrade Finland Helsinki Qatar Doha Yemen Sanaa Indonesia Jakarta Philippines Manila Venezuela Caracas Vietnam Hanoi Pakistan Islamabad Australia Canberra Wales Cardiff"},
        {"country → nationality",
         "France French Germany German Italy Italian Spain Spanish England English Russia Russian China Chinese Japan Japanese Egypt Egyptian Greece Greek Iraq Iraqi Iran Iranian Syria Syrian Turkey Turkish Ukraine "
         "Ukrainian Austria Austrian Belgium Belgian Poland Polish Hungary Hungarian Sweden Swedish Norway Norwegian Denmark Danish Ireland Irish Canada Canadian Israel Israeli Lebanon Lebanese Kenya Kenyan "
         "Afghanistan Afghan Thailand Thai Korea Korean Cuba Cuban Libya Libyan Scotland Scottish Portugal Portuguese India Indian Brazil Brazilian Mexico Mexican Australia Australian America American Europe "
         "European Africa African Asia Asian Vietnam Vietnamese Pakistan Pakistani"},
        {"word → antonym",
         "hot cold big small good bad up down left right high low open closed long short young old fast slow hard "
         "soft rich poor early late strong weak full empty light dark new old happy sad inside outside above below before after first last day night black white true false win lose buy sell love hate push pull "
         "start stop give take more less begin end near far male female north south east west summer winter war peace question answer life death deep shallow"},
        {"word → its negation",
         "likely unlikely known unknown able unable usual unusual fair unfair safe unsafe happy unhappy clear unclear healthy unhealthy certain uncertain expected unexpected necessary unnecessary popular "
         "unpopular stable unstable successful unsuccessful published unpublished limited unlimited wanted unwanted changed unchanged employed unemployed aware unaware comfortable "
         "uncomfortable familiar unfamiliar fortunate unfortunate natural unnatural paid unpaid real unreal related unrelated acceptable unacceptable identified unidentified finished unfinished complete "
         "incomplete possible impossible correct incorrect direct indirect visible invisible legal illegal regular irregular dependent independent consistent inconsistent perfect imperfect relevant "
         "irrelevant"},
        {"thing → its kind",
         "dog animal cat animal horse animal lion animal wolf animal eagle bird hawk bird robin bird rose flower oak tree pine tree maple tree apple fruit orange fruit banana fruit carrot vegetable potato vegetable "
         "beef meat pork meat chicken meat red color blue color green color yellow color purple color gold metal iron metal silver metal copper metal car vehicle truck vehicle bus vehicle piano instrument guitar "
         "instrument violin instrument hammer tool saw tool sword weapon rifle weapon gun weapon shirt clothing jacket clothing chair furniture table furniture salmon fish tuna fish ant insect bee insect football "
         "sport tennis sport hockey sport English language French language Spanish language"},
        {"man → woman",
         "man woman king queen boy girl father mother son daughter brother sister husband wife uncle aunt he she him her his hers prince princess actor actress men women boys girls fathers mothers sons daughters "
         "brothers sisters husbands wives kings queens male female males females gentleman lady gentlemen ladies dad mom nephew niece grandfather grandmother groom bride monk nun wizard witch hero heroine waiter "
         "waitress lord lady sir madam himself herself guy girl guys girls bull cow rooster hen god goddess emperor empress boyfriend girlfriend Mr Mrs landlord landlady"},
        {"verb → past tense",
         "go went see saw take took come came give gave know knew think thought find found make made tell told become became leave left feel felt bring brought begin began keep kept hold held write wrote stand "
         "stood hear heard mean meant meet met run ran pay paid sit sat speak spoke lead led grow grew lose lost fall fell send sent build built understand understood draw drew break broke spend spent rise rose "
         "drive drove buy bought wear wore choose chose walk walked look looked want wanted"},
        {"verb → its -ing form",
         "go going see seeing take taking come coming give giving know knowing think thinking find finding make making tell telling become becoming leave leaving feel feeling bring bringing begin beginning keep "
         "keeping hold holding write writing stand standing hear hearing meet meeting run running pay paying sit sitting speak speaking lead leading grow growing lose losing fall falling send sending build building "
         "draw drawing break breaking spend spending rise rising drive driving buy buying wear wearing choose choosing walk walking look looking want wanting"},
        {"singular → plural",
         "man men woman women child children person people foot feet car cars house houses dog dogs book books year years day days hand hands eye eyes word words city cities country countries family families story "
         "stories student students teacher teachers game games state states school schools friend friends body bodies party parties life lives wife wives leaf leaves box boxes church churches class "
         "classes bus buses tree trees river rivers king kings idea ideas number numbers problem problems"},
        {"adjective → comparative",
         "big bigger small smaller good better bad worse high higher low lower long longer short shorter young younger old older fast faster slow slower hard harder soft softer rich richer poor poorer early "
         "earlier late later strong stronger weak weaker light lighter dark darker happy happier easy easier great greater large larger deep deeper close closer cheap cheaper safe safer simple simpler wide wider "
         "warm warmer cold colder hot hotter smart smarter tall taller thick thicker thin thinner broad broader heavy heavier quick quicker"},
        {"adjective → adverb",
         "quick quickly slow slowly easy easily happy happily clear clearly sudden suddenly real really usual usually final finally recent recently near nearly complete completely certain certainly serious "
         "seriously strong strongly careful carefully direct directly exact exactly perfect perfectly quiet quietly rapid rapidly sharp sharply deep deeply bad badly wide widely high highly great greatly main "
         "mainly simple simply probable probably possible possibly general generally particular particularly special specially actual actually initial initially original originally normal normally relative relatively"},
        {"verb → who does it",
         "teach teacher write writer sing singer drive driver play player work worker lead leader read reader speak speaker win winner run runner build builder own owner manage manager report reporter publish "
         "publisher produce producer direct director act actor investigate investigator edit editor visit visitor "
         "invest investor collect collector create creator design designer develop developer farm farmer fight fighter hunt hunter kill killer lose loser make maker paint painter perform performer research "
         "researcher rule ruler sell seller survive survivor use user view viewer vote voter buy buyer"},
        {"word → next in its row",
         "Monday Tuesday Tuesday Wednesday Wednesday Thursday Thursday Friday Friday Saturday Saturday Sunday Sunday Monday January February February March March April April May May June June July July August "
         "August September September October October November November December December January one two two three three four four five five six six seven seven eight eight nine nine ten ten eleven eleven twelve "
         "first second second third third fourth fourth fifth fifth sixth sixth seventh seventh eighth eighth ninth spring summer summer autumn autumn winter"},
        {"number word → number",
         "zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19 twenty 20 thirty 30 "
         "forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90 hundred 100 thousand 1000 dozen 12 first 1 second 2 third 3 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8 ninth 9 tenth 10"},
        {"number → the next",
         "1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 14 14 15 15 16 16 17 17 18 18 19 19 20 20 21 21 22 22 23 23 24 24 25 25 26 26 27 27 28 28 29 29 30 30 31 31 32 32 33 33 34 34 35 35 36 36 37 37 38 38 39 39 40 40 41 41 42 42 43 43 44 44 45"},
        {"letter → the next",
         "a b b c c d d e e f f g g h h i i j j k k l l m m n n o o p p q q r r s s t t u u v v w w x x y y z A B B C C D D E E F F G G H H I I J J K K L L M M N N O O P P Q Q R R S S T T U U V V W W X X Y Y Z"},
    }};

constexpr const char* startingWords =
    "apple book city door earth fire game house idea job king light money name order party queen river school "
    "time unit voice water year zone animal body country day eye family group heart island land man night office people question room story table user value word young";

constexpr const char* plainWords =
    "the and not for you are all new now one out time man year world life day hand part place work week case point company number group problem fact right high old great big small good best free love";

constexpr const char* builtInNames =
    "John Mary James David Michael Robert William Richard Thomas Charles Daniel Matthew Anthony Mark Paul Steven Andrew George Kevin Brian Edward Jason Jeff Ryan Jacob Gary Eric Jonathan Stephen Larry Justin "
    "Scott Brandon Benjamin Samuel Frank Patrick Jack Peter Henry Adam Simon Sarah Jennifer Elizabeth Susan Jessica Karen Lisa Nancy Laura Emily Michelle Amanda Kate Anna Rachel Alice Jane Maria";

std::vector<std::string> split(const char* text)
{
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

char upper(char c)
{
    return static_cast<char>(c - 'a' + 'A');
}

template <typename Change>
Relation changed(const char* name, const char* words, Change change)
{
    Relation relation{name, {}};
    for (const std::string& word : split(words))
        relation.pairs.emplace_back(word, change(word));
    return relation;
}

} // namespace

std::vector<Relation> builtInRelations()
{
    std::vector<Relation> relations;
    for (const WrittenRelation& list : writtenRelations) {
        Relation relation{list.name, {}};
        const std::vector<std::string> words = split(list.words);
        for (std::size_t i = 0; i + 1 < words.size(); i += 2)
            relation.pairs.emplace_back(words[i], words[i + 1]);
        relations.push_back(std::move(relation));
    }
    relations.push_back(changed("word → its first letter", startingWords,
                                [](const std::string& word) { return word.substr(0, 1); }));
    relations.push_back(changed("word → Word", plainWords, [](std::string word) {
        word[0] = upper(word[0]);
        return word;
    }));
    relations.push_back(changed("word → WORD", plainWords, [](std::string word) {
        for (char& c : word)
            c = upper(c);
        return word;
    }));
    relations.push_back(
        changed("name → the same name", builtInNames, [](const std::string& word) { return word; }));
    return relations;
}

std::vector<std::string> firstNames()
{
    return split(builtInNames);
}

} // namespace headwise
